//! What is found of programs, and the table of it.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::{peak::Peak, timed::Part};

/// What is found of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Which data it had; 0: those of a golden program.
    pub(crate) size: usize,
    /// Launches of a run.
    pub(crate) launches: u64,
    /// How long the device worked, in the shortest run.
    pub(crate) worked: Duration,
    /// How long the shortest run took, from and to arrays on the device.
    pub(crate) whole: Duration,
    /// Bytes that a run has to read and write.
    pub(crate) bytes: f64,
    /// Operations that a run has to do.
    pub(crate) operations: f64,
}

/// Begins the line that a process prints for another.
const LINE: &str = "figures";

impl Figures {
    /// For another process.
    pub(crate) fn line(&self) -> String {
        let Self { size, launches, worked, whole, bytes, operations } = self;
        format!("{LINE} {size} {launches} {} {} {bytes} {operations}", worked.as_nanos(), whole.as_nanos())
    }

    /// Of what a process printed.
    pub(crate) fn of(printed: &str) -> Result<Self> {
        let line = printed.lines().find_map(|line| line.strip_prefix(LINE));
        let words: Vec<&str> = line.context("it printed no figures")?.split_whitespace().collect();
        let [size, launches, worked, whole, bytes, operations] = words[..] else {
            anyhow::bail!("it printed other figures: {printed}");
        };
        let time = |word: &str| word.parse().map(Duration::from_nanos);
        Ok(Self {
            size: size.parse()?,
            launches: launches.parse()?,
            worked: time(worked)?,
            whole: time(whole)?,
            bytes: bytes.parse()?,
            operations: operations.parse()?,
        })
    }

    /// The row of the table.
    pub(crate) fn row(&self, name: &str, peak: Peak) -> String {
        let part = |amount: f64, peak: f64| match self.rate(amount) {
            Some(rate) if amount > 0.0 => (format!("{:.1}", rate / 1e9), format!("{:.0}%", 100.0 * rate / peak)),
            _ => (String::new(), String::new()),
        };
        let (bytes, of_copy) = part(self.bytes, peak.bytes);
        let (operations, of_peak) = part(self.operations, peak.operations);
        let size = if self.size > 0 { self.size.to_string() } else { String::new() };
        let (worked, whole) = (self.worked.as_secs_f64() * 1e6, self.whole.as_secs_f64() * 1e6);
        let row = format!(
            "{name:28} {size:>10} {:>9} {worked:>12.1} {whole:>12.1} {bytes:>8} {of_copy:>6} {operations:>10} {of_peak:>6}",
            self.launches
        );
        row.trim_end().to_owned()
    }

    /// So much a second, of the time that the device worked.
    fn rate(&self, amount: f64) -> Option<f64> {
        let seconds = self.worked.as_secs_f64();
        (seconds > 0.0).then(|| amount / seconds)
    }
}

/// Begins a line about a part of a run.
const PART: &str = "part";

/// For another process: what took longest in a run, so many of them.
pub(crate) fn part_lines(parts: &[Part], most: usize) -> String {
    let line = |part: &Part| format!("{PART} {} {} {}\n", part.times, part.worked.as_nanos(), part.name);
    parts.iter().take(most).map(line).collect()
}

/// The rows of parts that a process printed.
pub(crate) fn part_rows(printed: &str) -> Result<Vec<String>> {
    let lines = printed.lines().filter_map(|line| line.strip_prefix(PART)).map(str::trim_start);
    lines
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let mut next = || words.next().context("it printed other parts");
            let (times, nanoseconds, name): (u64, u64, &str) = (next()?.parse()?, next()?.parse()?, next()?);
            Ok(format!("  {name:37} {times:>9} {:>12.1}", Duration::from_nanos(nanoseconds).as_secs_f64() * 1e6))
        })
        .collect()
}

/// The names of columns.
pub(crate) fn head() -> String {
    let columns = ["GB/s", "", "GFLOP/s", ""];
    let row = format!(
        "{:28} {:>10} {:>9} {:>12} {:>12} {:>8} {:>6} {:>10} {:>6}",
        "program", "size", "launches", "us", "us, whole", columns[0], columns[1], columns[2], columns[3]
    );
    row.trim_end().to_owned()
}

/// What a program is to reach.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// This part of the bytes a second of a copy.
    OfCopy(f64),
    /// This part of the operations a second of a loop of `fma`.
    OfPeak(f64),
    /// So many elements a second.
    Elements(f64),
}

const GOALS: [(&str, Goal); 6] = [
    ("saxpy", Goal::OfCopy(0.9)),
    ("dot", Goal::OfCopy(0.9)),
    ("scan_f32", Goal::OfCopy(0.85)),
    ("scan_i32", Goal::OfCopy(0.85)),
    ("matmul", Goal::OfPeak(0.6)),
    ("radixsort", Goal::Elements(1e9)),
];

/// What a program reaches of its goal, if it has one.
pub(crate) fn goal(name: &str, figures: &Figures, peak: Peak) -> Option<String> {
    let (_, goal) = GOALS.iter().find(|(own, _)| *own == name)?;
    let percent = |part: f64| format!("{:.0}%", 100.0 * part);
    let (found, wanted, of, reached) = match *goal {
        Goal::OfCopy(part) => {
            let found = figures.rate(figures.bytes)? / peak.bytes;
            (percent(found), percent(part), "of a copy", found >= part)
        }
        Goal::OfPeak(part) => {
            let found = figures.rate(figures.operations)? / peak.operations;
            (percent(found), percent(part), "of `fma`", found >= part)
        }
        Goal::Elements(rate) => {
            let found = figures.rate(figures.size as f64)?;
            let billions = |rate: f64| format!("{:.2} G", rate / 1e9);
            (billions(found), billions(rate), "elements/s", found >= rate)
        }
    };
    let said = if reached { "reached" } else { "NOT reached" };
    Some(format!("goal: {name} {found} {of}, of {wanted}: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEAK: Peak = Peak { bytes: 2e12, operations: 50e12 };

    fn figures(bytes: f64, operations: f64) -> Figures {
        let (worked, whole) = (Duration::from_micros(100), Duration::from_micros(130));
        Figures { size: 10_000_000, launches: 2, worked, whole, bytes, operations }
    }

    #[test]
    fn parts_have_rows() {
        let part =
            |name: &str, micros, times| Part { name: name.to_owned(), worked: Duration::from_micros(micros), times };
        let lines = part_lines(&[part("sum_tiles", 90, 1), part("clear", 10, 2), part("copy", 1, 1)], 2);
        let rows = part_rows(&format!("{lines}figures 1 2 3 4 5 6\n")).unwrap();
        let words: Vec<Vec<&str>> = rows.iter().map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(words, [["sum_tiles", "1", "90.0"], ["clear", "2", "10.0"]]);
        part_rows("part 1 many sum").unwrap_err();
    }

    #[test]
    fn rows_have_rates_and_their_parts() {
        // 190 MB in 100 us are 1,900 GB/s, 95 % of 2,000; 1.5 G operations are 15,000 GFLOP/s, 30 % of 50,000.
        let row = figures(190e6, 1.5e9).row("saxpy", PEAK);
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["saxpy", "10000000", "2", "100.0", "130.0", "1900.0", "95%", "15000.0", "30%"]);
        assert_eq!(head().find("GB/s").map(|at| at + 4), row.find("1900.0").map(|at| at + 6));
        // A golden program has no size, and no work that is known.
        let row = Figures { size: 0, bytes: 0.0, operations: 0.0, ..figures(0.0, 0.0) }.row("dotp", PEAK);
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["dotp", "2", "100.0", "130.0"]);
        // Nothing was launched: no rate.
        let row = Figures { worked: Duration::ZERO, ..figures(1e6, 0.0) }.row("empty", PEAK);
        assert!(!row.contains("inf") && !row.contains('%'), "{row}");
    }

    #[test]
    fn figures_go_from_one_process_to_another() {
        for found in [figures(190e6, 1.5e9), Figures::default(), figures(f64::MAX, 1e-300)] {
            assert_eq!(Figures::of(&format!("something else\n{}\n", found.line())).unwrap(), found);
        }
        for wrong in ["", "figures", "figures 1 2 3", "figures 1 2 3 4 5 x", "figures 1 2 -3 4 5 6", "row 1 2 3 4 5 6"]
        {
            assert!(Figures::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn goals_are_compared() {
        let of = |name: &str, bytes: f64, operations: f64| goal(name, &figures(bytes, operations), PEAK);
        assert_eq!(of("saxpy", 180e6, 0.0).unwrap(), "goal: saxpy 90% of a copy, of 90%: reached");
        assert_eq!(of("dot", 120e6, 0.0).unwrap(), "goal: dot 60% of a copy, of 90%: NOT reached");
        assert_eq!(of("matmul", 1.0, 3.5e9).unwrap(), "goal: matmul 70% of `fma`, of 60%: reached");
        assert_eq!(of("radixsort", 1.0, 0.0).unwrap(), "goal: radixsort 100.00 G elements/s, of 1.00 G: reached");
        assert_eq!(of("life", 1.0, 0.0), None);
        let names: Vec<&str> = fusebox_bench::programs::all().iter().map(|program| program.name).collect();
        assert!(GOALS.iter().all(|(name, _)| names.contains(name)), "{names:?}");
    }
}
