//! Launches of a lane.

use cranelift_codegen::ir::{
    BlockArg, InstBuilder, MemFlagsData, Value as Clif,
    condcodes::{FloatCC, IntCC},
    types,
};
use fusebox_ir::MAX_EXTENT;

use super::{Loaded, Lower};
use crate::{
    code_memory::Code,
    lanes::{
        frame::{LONG, SCRATCH, SLOT, Stop, TIMED},
        helpers,
        script::{Call, Given, Number, Slot, Steps, Wanted},
    },
    launch::UNKNOWN_STEPS,
};

impl Lower<'_, '_> {
    /// Calls the code of a kernel, once its arrays are known to be those that it counts on.
    pub(super) fn launch(&mut self, number: usize) {
        let call = &self.script.calls[number];
        let sizes: Vec<Clif> = call.sizes.iter().map(|&size| self.known(size)).collect();
        let places: Vec<Option<Loaded>> = call.arrays.iter().map(|given| self.given(given)).collect();
        let mut fails = Vec::new();
        for (&size, known) in sizes.iter().zip(&call.sizes) {
            if let Number::Scalar(_) = known {
                fails.push(self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, size, MAX_EXTENT));
            }
        }
        for (given, place) in call.arrays.iter().zip(&places) {
            if let Some(place) = place {
                fails.push(self.b.ins().icmp_imm_u(IntCC::Equal, place.address, 0));
            }
            for (own, wanted) in self.own_extents(given).into_iter().zip(&given.extents) {
                let wanted = self.wanted(*wanted, &sizes);
                fails.push(self.b.ins().icmp(IntCC::NotEqual, own, wanted));
            }
        }
        for &(first, second) in &call.alike {
            let (first, second) = (&call.arrays[first], &call.arrays[second]);
            let (first, second) = (self.own_extents(first), self.own_extents(second));
            for (first, second) in first.into_iter().zip(second) {
                fails.push(self.b.ins().icmp(IntCC::NotEqual, first, second));
            }
        }
        self.take_over(call, &places);
        // What is written nobody else has.
        for (given, place) in call.arrays.iter().zip(&places) {
            if let (true, Some(place)) = (given.written, place) {
                let count = self.count(place.piece, 0);
                fails.push(self.b.ins().icmp_imm_s(IntCC::NotEqual, count, 1));
            }
        }
        if let Some(fails) = fails.into_iter().reduce(|before, now| self.b.ins().bor(before, now)) {
            self.fail_if(fails);
        }
        let layout = self.script.layout;
        let words = layout.word(call.first_word);
        for (position, (&size, known)) in sizes.iter().zip(&call.sizes).enumerate() {
            if let Number::Scalar(_) = known {
                self.store(words + position, size);
            }
        }
        for (position, place) in places.iter().enumerate() {
            if let Some(place) = place {
                self.store(words + sizes.len() + position, place.address);
            }
        }
        self.timed(|own| {
            own.help(helpers::begin as *const (), &[]);
        });
        self.parts(call, &sizes);
        self.timed(|own| {
            let number = own.number(number as i64);
            own.help(helpers::end as *const (), &[number]);
        });
    }

    /// Where an array of a launch is; scalars are where they always are.
    fn given(&mut self, given: &Given) -> Option<Loaded> {
        match given.slot {
            Slot::Scalar(..) => None,
            Slot::Array(array) => Some(self.place(array)),
        }
    }

    fn own_extents(&mut self, given: &Given) -> Vec<Clif> {
        match given.slot {
            Slot::Scalar(..) => Vec::new(),
            Slot::Array(array) => self.extents(array),
        }
    }

    fn wanted(&mut self, wanted: Wanted, sizes: &[Clif]) -> Clif {
        match wanted {
            Wanted::Constant(number) => self.number(number),
            Wanted::Size(position) => sizes[position],
        }
    }

    /// Arrays that are written over others, in their memory: those are gone then, and the kernel reads them where they were.
    fn take_over(&mut self, call: &Call, places: &[Option<Loaded>]) {
        for (given, place) in call.arrays.iter().zip(places) {
            let over = given.over.filter(|_| given.written).and_then(|over| call.arrays.get(over));
            let (Slot::Array(array), Some(place), Some(Given { slot: Slot::Array(source), .. })) =
                (given.slot, place, over)
            else {
                continue;
            };
            if *source == array {
                continue;
            }
            let other = self.place(*source);
            let same = self.b.ins().icmp(IntCC::Equal, place.piece, other.piece);
            let (gone, next) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(same, gone, &[], next, &[]);
            self.b.switch_to_block(gone);
            self.set_nowhere(*source);
            self.count(place.piece, -1);
            self.b.ins().jump(next, &[]);
            self.b.switch_to_block(next);
        }
    }

    /// Runs what is given if somebody wants to know what launches take.
    fn timed(&mut self, run: impl FnOnce(&mut Self)) {
        let wanted = self.load(TIMED);
        let (timed, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(timed);
        self.b.ins().brif(wanted, timed, &[], next, &[]);
        self.b.switch_to_block(timed);
        run(self);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// The parts of a kernel.
    fn parts(&mut self, call: &Call, sizes: &[Clif]) {
        let words = self.script.layout.word(call.first_word);
        let table = self.b.ins().iadd_imm_s(self.frame, (words * 8) as i64);
        let zero = self.number(0);
        let steps = match &call.steps {
            Steps::None => zero,
            Steps::Between(from, to) => {
                let (from, to) = (self.wanted(*from, sizes), self.wanted(*to, sizes));
                let some = self.b.ins().icmp(IntCC::SignedGreaterThan, to, from);
                let steps = self.b.ins().isub(to, from);
                // Of bounds further from each other than a number can say there are none either.
                let steps = self.b.ins().smax(steps, zero);
                self.b.ins().select(some, steps, zero)
            }
            Steps::Code(code) => {
                self.code(code, table, (zero, zero));
                self.first_of_scratch()
            }
        };
        if self.script.lane.is_none() {
            self.stop_if_long(call, steps, sizes);
        }
        if let Some(word) = call.steps_word {
            self.store(words + word, steps);
        }
        for (number, working) in call.working.iter().enumerate() {
            let blocks = self.b.ins().iadd_imm_s(steps, working.steps - 1);
            let blocks = self.b.ins().ushr_imm_u(blocks, i64::from(working.steps.trailing_zeros()));
            let ready = self.b.create_block();
            self.b.append_block_param(ready, types::I64);
            if let Some(own) = working.own {
                let several = self.b.create_block();
                let own = self.b.ins().iadd_imm_s(self.frame, ((words + own) * 8) as i64);
                let alone = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, blocks, 1);
                self.b.ins().brif(alone, ready, &[BlockArg::Value(own)], several, &[]);
                self.b.switch_to_block(several);
                self.b.set_cold_block(several);
            }
            let number = self.number(number as i64);
            let address = self.help(helpers::working as *const (), &[number, blocks]);
            self.b.ins().jump(ready, &[BlockArg::Value(address)]);
            self.b.switch_to_block(ready);
            let address = self.b.block_params(ready)[0];
            let none = self.b.ins().icmp_imm_u(IntCC::Equal, address, 0);
            self.fail_if(none);
            self.store(words + working.word, address);
        }
        let count = call.count.map(|count| call.arrays[count].slot);
        // How many elements were appended, which the code leaves in scratch memory.
        let appended = if call.whole {
            self.code(&call.code, table, (zero, steps));
            self.first_of_scratch()
        } else {
            let (some, next) = (self.b.create_block(), self.b.create_block());
            self.b.append_block_param(next, types::I64);
            self.b.ins().brif(steps, some, &[], next, &[BlockArg::Value(zero)]);
            self.b.switch_to_block(some);
            self.code(&call.code, table, (zero, steps));
            let appended = self.first_of_scratch();
            self.b.ins().jump(next, &[BlockArg::Value(appended)]);
            self.b.switch_to_block(next);
            self.b.block_params(next)[0]
        };
        if let Some(finish) = &call.finish {
            self.code(finish, table, (zero, steps));
        }
        if let Some(Slot::Scalar(number, _)) = count {
            self.set_scalar(number, appended);
        }
    }

    /// Stops a plan before a launch that is estimated to take so long that threads may gain by it.
    fn stop_if_long(&mut self, call: &Call, steps: Clif, sizes: &[Clif]) {
        let mut points = self.b.ins().f64const(1.0);
        let mut sum: Option<Clif> = None;
        for (depth, &parts) in call.work.of_depth.iter().enumerate() {
            if depth > 0 {
                let steps = match depth.checked_sub(2).map(|inner| call.work.inner[inner]) {
                    None => steps,
                    Some(Some((from, to))) => {
                        let (from, to) = (self.wanted(from, sizes), self.wanted(to, sizes));
                        self.b.ins().isub(to, from)
                    }
                    Some(None) => self.number(UNKNOWN_STEPS as i64),
                };
                let steps = self.b.ins().fcvt_from_sint(types::F64, steps);
                points = self.b.ins().fmul(points, steps);
            }
            if parts > 0 {
                let parts = self.b.ins().f64const(parts as f64);
                let own = self.b.ins().fmul(points, parts);
                sum = Some(match sum {
                    None => own,
                    Some(before) => self.b.ins().fadd(before, own),
                });
            }
        }
        let Some(sum) = sum else { return };
        let most = self.b.ins().load(types::F64, MemFlagsData::trusted(), self.frame, (LONG * 8) as i32);
        let long = self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, sum, most);
        let how = self.number(Stop::Large as i64);
        let next = self.b.create_block();
        self.b.ins().brif(long, self.ended, &[BlockArg::Value(how)], next, &[]);
        self.b.switch_to_block(next);
    }

    /// Calls one part; the lane fails if it does.
    fn code(&mut self, code: &Code, table: Clif, (from, to): (Clif, Clif)) {
        let (scratch, slot) = (self.load(SCRATCH), self.load(SLOT));
        let address = self.number(code.function as usize as i64);
        let call = self.b.ins().call_indirect(self.kernel, address, &[table, from, to, scratch, slot]);
        let site = self.b.inst_results(call)[0];
        self.fail_if(site);
    }

    fn first_of_scratch(&mut self) -> Clif {
        let scratch = self.load(SCRATCH);
        self.b.ins().load(types::I64, MemFlagsData::trusted(), scratch, 0)
    }
}
