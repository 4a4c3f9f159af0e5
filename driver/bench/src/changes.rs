//! What changed between two runs of the suite.
//!
//! Compared is the ratio to the hand-written program, which both runs measured in the same rounds, so that a faster machine changes nothing.
//! A program changed if the intervals of its two ratios ([`Spread`]) have nothing in common and the medians differ by at least [`LEAST`].

use std::{collections::BTreeMap, fmt::Write};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    measure::Spread,
    plot::{self, Mark},
    report::{aligned, geometric_mean, milliseconds},
};

/// Less is where code and memory came to lie, which is not the same in two processes of one program.
pub const LEAST: f64 = 0.03;

/// What was measured of a program at a size, one way.
struct Figure {
    /// Seconds.
    time: f64,
    ratio: Spread,
}

/// Program, size, and way.
type Name = (String, u64, String);

/// Two runs of the suite.
pub struct Changes {
    /// In both, in the order of the second.
    both: Vec<(Name, Figure, Figure)>,
    /// In one alone, and in which.
    alone: Vec<(Name, &'static str)>,
}

impl Changes {
    /// From the figures of a run to those of a later one, as `--json` writes them.
    ///
    /// # Errors
    /// Something else, or figures without intervals.
    pub fn new(before: &Value, after: &Value) -> Result<Self> {
        let (_, mut old) = figures(before).context("the figures before")?;
        let (order, mut new) = figures(after).context("the figures after")?;
        let (mut both, mut alone) = (Vec::new(), Vec::new());
        for name in order {
            match (old.remove(&name), new.remove(&name)) {
                (Some(old), Some(new)) => both.push((name, old, new)),
                _ => alone.push((name, "after")),
            }
        }
        alone.extend(old.into_keys().map(|name| (name, "before")));
        Ok(Self { both, alone })
    }

    /// One line for each program, size and way.
    pub fn table(&self, markdown: bool) -> String {
        let head = ["program", "size", "way", "before ms", "after ms", "ratio", "±", "after", "±", "change", ""];
        let percent = |part: f64| format!("{:.0} %", 100.0 * part);
        let row = |((program, size, way), old, new): &(Name, Figure, Figure)| {
            let mut cells = vec![program.clone(), size.to_string(), way.clone()];
            cells.extend([old, new].map(|figure| milliseconds(figure.time)));
            for ratio in [&old.ratio, &new.ratio] {
                cells.extend([format!("{:.3}", ratio.median), percent(ratio.part())]);
            }
            let change = new.ratio.median / old.ratio.median - 1.0;
            cells.extend([format!("{:+.1} %", 100.0 * change), verdict(old, new).to_owned()]);
            cells
        };
        let rows: Vec<Vec<String>> = self.both.iter().map(row).collect();
        let mut text = aligned(&head.map(String::from), &rows, markdown);
        let count = |word: &str| self.both.iter().filter(|(_, old, new)| verdict(old, new) == word).count();
        let _ = writeln!(
            text,
            "{}{} compared: {} faster, {} slower, {} within noise (intervals of 95 % that meet, or less than {})",
            if markdown { "\n" } else { "" },
            self.both.len(),
            count("faster"),
            count("slower"),
            count(""),
            percent(LEAST)
        );
        let changes: Vec<f64> = self.both.iter().map(|(_, old, new)| new.ratio.median / old.ratio.median).collect();
        if let Some(mean) = geometric_mean(&changes) {
            let _ = writeln!(text, "after / before: {mean:.3}, the geometric mean");
        }
        for ((program, size, way), which) in &self.alone {
            let _ = writeln!(text, "{program} {size} {way}: only {which}");
        }
        text
    }

    /// Ratios before and after.
    pub fn svg(&self) -> String {
        let mark = |(program, size, way): &Name, figure: &Figure| Mark {
            label: format!("{program} {size} {way}"),
            at: figure.ratio,
        };
        let before = self.both.iter().map(|(name, old, _)| mark(name, old)).collect();
        let after = self.both.iter().map(|(name, _, new)| mark(name, new)).collect();
        plot::svg("time of fusebox / time of Rust", &[("before".into(), before), ("after".into(), after)])
    }
}

/// What became of a program; nothing that can be told from noise: empty.
fn verdict(old: &Figure, new: &Figure) -> &'static str {
    let change = new.ratio.median / old.ratio.median;
    match old.ratio.is_apart_from(&new.ratio) && (change - 1.0).abs() >= LEAST {
        true if change < 1.0 => "faster",
        true => "slower",
        false => "",
    }
}

/// Figures by name, and the names in order.
fn figures(run: &Value) -> Result<(Vec<Name>, BTreeMap<Name, Figure>)> {
    let rows = run["rows"].as_array().context("they have no `rows`: are they of `--json`?")?;
    let (mut names, mut figures) = (Vec::new(), BTreeMap::new());
    for row in rows {
        let program = row["program"].as_str().context("a row without `program`")?;
        let size = row["size"].as_u64().with_context(|| format!("`{program}` has no `size`"))?;
        for way in row["fusebox"].as_array().into_iter().flatten() {
            let number = |value: &Value, what: &str| {
                let number = value.as_f64().filter(|number| *number > 0.0);
                number.with_context(|| format!("`{program}` has no `{what}`: measure it again"))
            };
            let ratio = Spread {
                median: number(&way["ratio"], "ratio")?,
                low: number(&way["ratio_low"], "ratio_low")?,
                high: number(&way["ratio_high"], "ratio_high")?,
            };
            let fusion = way["fusion"].as_str().unwrap_or_default();
            let unchecked = if way["unchecked"] == true { ", unchecked" } else { "" };
            let name = (program.to_owned(), size, format!("{fusion}{unchecked}"));
            names.push(name.clone());
            figures.insert(name, Figure { time: number(&way["time"]["median"], "time")?, ratio });
        }
    }
    Ok((names, figures))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A run of programs of these names, with these ratios and how far their intervals reach.
    fn run(programs: &[(&str, f64, f64)]) -> Value {
        let row = |&(name, ratio, part): &(&str, f64, f64)| {
            json!({ "program": name, "size": 10, "fusebox": [{
                "fusion": "optimal", "unchecked": false, "time": { "median": 1e-3 * ratio },
                "ratio": ratio, "ratio_low": ratio * (1.0 - part), "ratio_high": ratio * (1.0 + part),
            }] })
        };
        json!({ "rows": programs.iter().map(row).collect::<Vec<_>>() })
    }

    #[test]
    fn what_is_beyond_noise_is_told() {
        let before = [
            ("same", 1.0, 0.02),
            ("faster", 1.0, 0.02),
            ("slower", 1.0, 0.02),
            ("noisy", 1.0, 0.3),
            ("gone", 1.0, 0.0),
        ];
        let after = [
            ("same", 1.02, 0.001),
            ("faster", 0.8, 0.02),
            ("slower", 1.1, 0.02),
            ("noisy", 1.2, 0.1),
            ("new", 1.0, 0.0),
        ];
        let changes = Changes::new(&run(&before), &run(&after)).unwrap();
        let table = changes.table(false);
        let verdicts: Vec<_> =
            table.lines().skip(1).take(4).map(|line| line.rsplit('%').next().unwrap().trim()).collect();
        assert_eq!(verdicts, ["", "faster", "slower", ""], "{table}");
        assert!(table.contains("4 compared: 1 faster, 1 slower, 2 within noise"), "{table}");
        assert!(
            table.contains("gone 10 optimal: only before") && table.contains("new 10 optimal: only after"),
            "{table}"
        );
        assert!(table.contains("-20.0 %"), "{table}");
        assert_eq!(changes.svg().matches("<circle").count(), 8);
    }

    #[test]
    fn a_difference_that_intervals_hold_apart_may_be_too_small() {
        let changes = Changes::new(&run(&[("a", 1.0, 0.0)]), &run(&[("a", 1.02, 0.0)])).unwrap();
        assert!(changes.table(false).contains("0 slower, 1 within noise"));
        let changes = Changes::new(&run(&[("a", 1.0, 0.0)]), &run(&[("a", 1.04, 0.0)])).unwrap();
        assert!(changes.table(false).contains("1 slower, 0 within noise"));
    }

    #[test]
    fn other_files_are_refused() {
        let error = |before: &Value| format!("{:#}", Changes::new(before, &run(&[])).map(|_| ()).unwrap_err());
        assert!(error(&json!([1])).contains("no `rows`"));
        let old = json!({ "rows": [{ "program": "dot", "size": 1, "fusebox": [{ "ratio": 1.0, "time": {} }] }] });
        assert!(error(&old).contains("`dot` has no `ratio_low`: measure it again"), "{}", error(&old));
    }
}
