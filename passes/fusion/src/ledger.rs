//! What a choice of forms costs, kept up to date while choices change: a change costs what it touches, not the whole.
//!
//! Each array says which of its users pay for reading it and whether it is stored; each class pays, for each of its elements, the larger of
//! its bytes and its instructions.

use std::collections::{BTreeMap, BTreeSet};

use egg::Id;
use fusebox_ir::analysis::work::PER_BYTE;
use rustc_hash::FxHashMap;

use crate::{
    circles::circles,
    cost::LOOP,
    error::Error,
    facts::Outside,
    forms::{Arrays, Form, Mode, Used},
    graph::{Classes, Graph},
    language::Source,
    region::Region,
};

/// By so many arrays that they use forms may differ that are exchanged for the sake of one array.
const MOST_CHANGED: usize = 64;

/// A class of operations, by number.
struct Class<'g> {
    id: Id,
    level: usize,
    outside: &'g [Outside],
    forms: Vec<Form>,
    /// The arrays that are its results.
    results: Vec<usize>,
    /// Classes some form of which uses it.
    users: Vec<usize>,
    /// A number that it shares with those with which some choice of forms would go round in a circle.
    circle: Option<usize>,
    choice: usize,
    /// How many uses of chosen forms want it, and one if there are others.
    wanted: usize,
    /// Bytes moved for each element.
    bytes: u64,
    /// Elements computed.
    times: u128,
    cost: u128,
}

/// An array that forms use, by number.
struct Array<'g> {
    used: Used<'g>,
    /// Who uses it now.
    users: BTreeMap<(usize, Mode), usize>,
    paid: Paid,
}

/// What an array adds.
#[derive(Clone, Default, PartialEq, Eq)]
struct Paid {
    /// By users outside of the graph.
    outside: u128,
    /// Bytes an element, by class.
    bytes: Vec<(usize, u64)>,
    /// The user that computes it for itself.
    in_passing: Option<usize>,
}

/// The cost of a choice.
pub(crate) struct Ledger<'g> {
    classes: Vec<Class<'g>>,
    arrays: Vec<Array<'g>>,
    cost: u128,
    touched_arrays: BTreeSet<usize>,
    touched: BTreeSet<usize>,
}

impl<'g> Ledger<'g> {
    /// The first form of each class.
    ///
    /// # Errors
    /// [`Error::Cost`] where no number holds what it costs.
    pub(crate) fn new(graph: &'g Graph, region: &'g Region) -> Result<Self, Error> {
        let mut number: FxHashMap<Id, usize> = FxHashMap::default();
        let mut ids: Vec<Id> = Vec::new();
        for &id in &graph.analysis.order {
            let id = graph.find(id);
            number.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len() - 1
            });
        }
        let mut tables = Arrays { graph, region, number: &number, arrays: Vec::new(), array_of: FxHashMap::default() };
        let mut classes: Vec<Class<'g>> = ids
            .iter()
            .map(|&id| {
                let facts = graph.facts(id);
                let forms = facts.forms.iter().map(|known| tables.form(known)).collect();
                let results = (0..facts.arrays.len()).map(|component| tables.array(Source { class: id, component }));
                Class {
                    id,
                    level: region.levels.get(facts.position).copied().unwrap_or(0),
                    outside: &facts.outside,
                    forms,
                    results: results.collect(),
                    users: Vec::new(),
                    circle: None,
                    choice: 0,
                    wanted: 0,
                    bytes: 0,
                    times: 0,
                    cost: 0,
                }
            })
            .collect();
        let arrays: Vec<Array<'g>> = tables
            .arrays
            .into_iter()
            .map(|used| Array { used, users: BTreeMap::new(), paid: Paid::default() })
            .collect();
        let mut uses: Vec<Vec<usize>> = vec![Vec::new(); classes.len()];
        for (user, class) in classes.iter().enumerate() {
            let used: BTreeSet<usize> = class
                .forms
                .iter()
                .flat_map(|form| &form.uses)
                .filter_map(|&(array, _)| arrays[array].used.class)
                .collect();
            uses[user] = used.into_iter().collect();
        }
        for (user, used) in uses.iter().enumerate() {
            used.iter().for_each(|&class| classes[class].users.push(user));
        }
        for (circle, members) in circles(&uses).into_iter().enumerate() {
            members.into_iter().for_each(|class| classes[class].circle = Some(circle));
        }
        let mut ledger = Self { classes, arrays, cost: 0, touched_arrays: BTreeSet::new(), touched: BTreeSet::new() };
        for class in 0..ledger.classes.len() {
            if !ledger.classes[class].outside.is_empty() {
                ledger.want(class);
            }
        }
        ledger.settle()?;
        Ok(ledger)
    }

    pub(crate) fn classes(&self) -> usize {
        self.classes.len()
    }

    pub(crate) fn id(&self, class: usize) -> Id {
        self.classes[class].id
    }

    pub(crate) fn forms(&self, class: usize) -> usize {
        self.classes[class].forms.len()
    }

    pub(crate) fn choice(&self, class: usize) -> usize {
        self.classes[class].choice
    }

    pub(crate) fn is_needed(&self, class: usize) -> bool {
        self.classes[class].wanted > 0
    }

    pub(crate) fn cost(&self) -> u128 {
        self.cost
    }

    /// For each user of a class that has a form with (or without) a use of it, and another now, the last such form. What took in many
    /// arrays more is not given up for one, nor the other way round.
    pub(crate) fn users_with(&self, class: usize, with: bool) -> Vec<(usize, usize)> {
        let results = &self.classes[class].results;
        let has = |form: &Form| {
            let mut found = results.iter().map(|array| form.uses.binary_search_by_key(array, |&(array, _)| array));
            found.any(|found| found.is_ok())
        };
        let of_user = |&user: &usize| {
            let forms = &self.classes[user].forms;
            if has(&forms[self.classes[user].choice]) == with {
                return None;
            }
            let uses = forms[self.classes[user].choice].uses.len();
            let form = forms.iter().rposition(|form| has(form) == with)?;
            (forms[form].uses.len().abs_diff(uses) <= MOST_CHANGED).then_some((user, form))
        };
        self.classes[class].users.iter().filter_map(of_user).collect()
    }

    /// Changes forms. Says whether the choice can be computed in some order; where not, nothing is changed.
    ///
    /// # Errors
    /// [`Error::Cost`] where no number holds what it costs.
    pub(crate) fn choose(&mut self, moves: &[(usize, usize)]) -> Result<bool, Error> {
        let old: Vec<(usize, usize)> = moves.iter().map(|&(class, _)| (class, self.choice(class))).collect();
        moves.iter().for_each(|&(class, form)| self.classes[class].choice = form);
        if moves.iter().any(|&(class, _)| self.goes_round(class)) {
            old.into_iter().for_each(|(class, form)| self.classes[class].choice = form);
            return Ok(false);
        }
        // What is wanted before and after is wanted all the time, so that nothing is undone and done again.
        let needed: Vec<(usize, usize)> = old.into_iter().filter(|&(class, _)| self.is_needed(class)).collect();
        for &(class, form) in &needed {
            let used = self.differ(class, self.choice(class), form);
            self.use_each(class, &used).into_iter().for_each(|used| self.want(used));
        }
        for &(class, form) in &needed {
            let dropped = self.differ(class, form, self.choice(class));
            self.drop_each(class, dropped);
            self.touched.insert(class);
        }
        self.settle()?;
        Ok(true)
    }

    /// What one form of a class uses and another does not. Forms have most of what they use in common.
    fn differ(&self, class: usize, form: usize, other: usize) -> Vec<(usize, Mode)> {
        let forms = &self.classes[class].forms;
        let mut others = forms[other].uses.iter().peekable();
        let is_other = |used: &&(usize, Mode)| {
            while others.next_if(|other| *other < used).is_some() {}
            others.peek() != Some(used)
        };
        forms[form].uses.iter().filter(is_other).copied().collect()
    }

    /// Whether a class would need itself.
    fn goes_round(&self, class: usize) -> bool {
        let Some(circle) = self.classes[class].circle else { return false };
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut stack = vec![class];
        while let Some(user) = stack.pop() {
            let of_user = &self.classes[user];
            for used in
                of_user.forms[of_user.choice].uses.iter().filter_map(|&(array, _)| self.arrays[array].used.class)
            {
                if used == class {
                    return true;
                }
                if self.classes[used].circle == Some(circle) && seen.insert(used) {
                    stack.push(used);
                }
            }
        }
        false
    }

    /// One that wants a class more.
    fn want(&mut self, class: usize) {
        let mut stack = vec![class];
        while let Some(class) = stack.pop() {
            self.classes[class].wanted += 1;
            if self.classes[class].wanted == 1 {
                self.begin(class);
                let used = self.classes[class].forms[self.choice(class)].uses.clone();
                stack.extend(self.use_each(class, &used));
            }
        }
    }

    /// A class is computed from now on, or not any more.
    fn begin(&mut self, class: usize) {
        self.touched.insert(class);
        self.touched_arrays.extend(&self.classes[class].results);
    }

    /// Notes a class as a user of what it uses, and gives the classes that make that.
    fn use_each(&mut self, class: usize, used: &[(usize, Mode)]) -> Vec<usize> {
        let mut makers = Vec::new();
        for &(array, mode) in used {
            *self.arrays[array].users.entry((class, mode)).or_default() += 1;
            self.touched_arrays.insert(array);
            makers.extend(self.arrays[array].used.class);
        }
        makers
    }

    /// Notes a class as a user of what it uses no more, and so on with classes that nobody wants then.
    fn drop_each(&mut self, class: usize, dropped: Vec<(usize, Mode)>) {
        let mut stack = vec![(class, dropped)];
        while let Some((class, dropped)) = stack.pop() {
            for &(array, mode) in &dropped {
                let users = &mut self.arrays[array].users;
                match users.get_mut(&(class, mode)) {
                    Some(count) if *count > 1 => *count -= 1,
                    _ => _ = users.remove(&(class, mode)),
                }
                self.touched_arrays.insert(array);
                let Some(maker) = self.arrays[array].used.class else { continue };
                self.classes[maker].wanted -= 1;
                if self.classes[maker].wanted == 0 {
                    self.begin(maker);
                    stack.push((maker, self.classes[maker].forms[self.choice(maker)].uses.clone()));
                }
            }
        }
    }

    /// Brings the cost up to date.
    fn settle(&mut self) -> Result<(), Error> {
        while let Some(array) = self.touched_arrays.pop_first() {
            let paid = self.paid(array)?;
            let before = std::mem::replace(&mut self.arrays[array].paid, paid.clone());
            self.cost = (self.cost - before.outside).checked_add(paid.outside).ok_or(Error::Cost)?;
            for (class, bytes) in before.bytes {
                self.classes[class].bytes -= bytes;
                self.touched.insert(class);
            }
            for (class, bytes) in paid.bytes {
                self.classes[class].bytes += bytes;
                self.touched.insert(class);
            }
            self.touched.extend(self.arrays[array].used.class);
        }
        while let Some(class) = self.touched.pop_last() {
            let of_class = &self.classes[class];
            let form = &of_class.forms[of_class.choice];
            let in_passing =
                of_class.results.iter().filter_map(|&array| self.arrays[array].paid.in_passing).next_back();
            let times = in_passing.map_or(form.elements, |user| self.classes[user].times.max(form.elements));
            let each = LOOP + (of_class.bytes * PER_BYTE).max(form.work);
            let cost = match of_class.wanted > 0 && !form.free {
                true => times.checked_mul(u128::from(each)).ok_or(Error::Cost)?,
                false => 0,
            };
            self.cost = (self.cost - of_class.cost).checked_add(cost).ok_or(Error::Cost)?;
            if times != of_class.times {
                let used = form.uses.iter().filter(|&&(array, _)| self.arrays[array].paid.in_passing == Some(class));
                self.touched.extend(used.filter_map(|&(array, _)| self.arrays[array].used.class));
            }
            let of_class = &mut self.classes[class];
            (of_class.times, of_class.cost) = (times, cost);
        }
        Ok(())
    }

    /// What an array adds as it is used now.
    fn paid(&self, array: usize) -> Result<Paid, Error> {
        let Array { used: of, users, .. } = &self.arrays[array];
        let mut paid = Paid::default();
        let users: Vec<(usize, usize, Mode)> =
            users.keys().map(|&(user, mode)| (user, self.classes[user].level, mode)).collect();
        let is_stored = stored(of.level, &users, of.outside, users.len() + of.outside.len() == 1);
        match of.class {
            Some(class) if self.is_needed(class) && is_stored => paid.bytes.push((class, of.bytes)),
            _ => {}
        }
        if users.is_empty() {
            return Ok(paid);
        }
        let is_stored = is_stored || of.class.is_none();
        let mut levels: BTreeSet<usize> = BTreeSet::new();
        for user in of.outside.iter().filter(|user| user.fusible && Some(user.level) != of.level) {
            if levels.insert(user.level) {
                let cost = of.elements.checked_mul(u128::from(of.bytes * PER_BYTE)).ok_or(Error::Cost)?;
                paid.outside = paid.outside.checked_add(cost).ok_or(Error::Cost)?;
            }
        }
        for (user, level, mode) in users {
            let reads = match mode {
                Mode::InOrder => Some(level) != of.level && levels.insert(level),
                Mode::Elsewhere => is_stored,
                Mode::Stored => true,
                Mode::Scalar => false,
            };
            if reads {
                paid.bytes.push((user, of.bytes));
            }
            let of_user = &self.classes[user];
            if mode == Mode::Elsewhere && !is_stored && !of_user.forms[of_user.choice].by_rows {
                paid.in_passing = Some(user);
            }
        }
        Ok(paid)
    }
}

/// Whether a result must be stored: someone uses it in another pass, or otherwise than one pass can.
fn stored(level: Option<usize>, users: &[(usize, usize, Mode)], outside: &[Outside], alone: bool) -> bool {
    users.iter().any(|&(_, at, mode)| match mode {
        Mode::InOrder => Some(at) != level,
        Mode::Elsewhere => Some(at) != level || !alone,
        Mode::Stored | Mode::Scalar => true,
    }) || outside.iter().any(|user| !user.fusible || Some(user.level) != level)
}
