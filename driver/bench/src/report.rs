//! What was measured, as a table, as Markdown, as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{
    compiled::Way,
    machine::Machine,
    measure::{Spread, Times},
    plot::{self, Mark},
    program::Work,
};

/// All that was measured.
pub struct Report {
    /// What the machine can do, if it was measured.
    pub machine: Option<Machine>,
    /// How many programs wanted to run when the measurements began, if the system tells: about 0 on an idle machine.
    pub load: Option<f64>,
    /// The ways that were measured, in the order of [`Row::ours`].
    pub ways: Vec<Way>,
    /// A row for each program and size.
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    pub failed: Vec<String>,
}

/// One program at one size.
pub struct Row {
    /// Its name.
    pub program: &'static str,
    /// What generated its inputs.
    pub size: usize,
    /// The least work.
    pub work: Work,
    /// The hand-written program.
    pub hand: Times,
    /// The program, for each way that was measured.
    pub ours: Vec<Option<Times>>,
    /// The program's own steps by hand, if there are some.
    pub same_steps: Option<Times>,
}

impl Row {
    /// Time of the program over that of the hand-written one, round by round.
    fn ratio(&self, ours: &Times) -> Spread {
        ours.over(&self.hand)
    }

    /// What the first way took over what each other took, round by round.
    fn gains(&self) -> Vec<Option<Spread>> {
        let [first, others @ ..] = self.ours.as_slice() else { return Vec::new() };
        others.iter().map(|way| Some(first.as_ref()?.over(way.as_ref()?))).collect()
    }

    /// The fraction of the machine's bandwidth that the least traffic in this time is.
    fn bandwidth(&self, times: &Times, machine: Option<&Machine>) -> Option<f64> {
        Some(self.work.bytes / times.median() / machine?.bandwidth()).filter(|part| *part > 0.0)
    }

    /// The fraction of the machine's arithmetic that the least operations in this time are.
    fn arithmetic(&self, times: &Times, machine: Option<&Machine>) -> Option<f64> {
        Some(self.work.operations / times.median() / machine?.products_and_sums).filter(|part| *part > 0.0)
    }
}

impl Report {
    /// One line for each program and size.
    pub fn table(&self) -> String {
        let (head, rows) = self.cells();
        self.preface() + &aligned(&head, &rows, false) + &self.means()
    }

    /// The same as a table in Markdown.
    pub fn markdown(&self) -> String {
        let (head, rows) = self.cells();
        let means = self.means();
        let between = if means.is_empty() { "" } else { "\n" };
        self.preface() + "\n" + &aligned(&head, &rows, true) + between + &means
    }

    fn preface(&self) -> String {
        let load = self.load.map_or_else(|| "unknown".into(), |load| format!("{load:.2}"));
        let Some(machine) = &self.machine else { return format!("load {load}\n") };
        let Machine { processor, threads, read, copy, triad, products_and_sums, fused } = machine;
        let giga = |value: f64| format!("{:.1}", value / 1e9);
        format!(
            "{processor}, {threads} threads; GB/s: read {}, copy {}, triad {}; Gop/s, f32: product and sum {}, fused {}; load {load}\n",
            giga(*read),
            giga(*copy),
            giga(*triad),
            giga(*products_and_sums),
            giga(*fused),
        )
    }

    fn cells(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let several = self.ways.len() > 1;
        let name = |way: &Way| if several { way.name() } else { "fusebox".into() };
        let mut head: Vec<String> = ["program", "size", "MB", "Rust ms", "±"].map(String::from).into();
        for way in &self.ways {
            head.extend([format!("{} ms", name(way)), "±".into(), "ratio".into(), "±".into()]);
        }
        if let [first, others @ ..] = self.ways.as_slice() {
            head.extend(others.iter().map(|way| format!("{} / {}", name(first), name(way))));
        }
        let has_steps = self.rows.iter().any(|row| row.same_steps.is_some());
        if has_steps {
            head.extend(["same steps ms", "ratio"].map(String::from));
        }
        head.extend(["of bandwidth", "Rust's", "of arithmetic", "Rust's"].map(String::from));
        let percent = |part: Option<f64>| part.map_or_else(|| "-".into(), |part| format!("{:.0} %", 100.0 * part));
        let row = |row: &Row| {
            let megabytes = format!("{:.1}", row.work.bytes / 1e6);
            let mut cells = vec![row.program.to_owned(), row.size.to_string(), megabytes];
            cells.extend([milliseconds(row.hand.median()), percent(Some(row.hand.spread.part()))]);
            for ours in &row.ours {
                let Some(ours) = ours else {
                    cells.extend(["-", "-", "-", "-"].map(String::from));
                    continue;
                };
                let ratio = row.ratio(ours);
                cells.extend([milliseconds(ours.median()), percent(Some(ours.spread.part()))]);
                cells.extend([format!("{:.2}", ratio.median), percent(Some(ratio.part()))]);
            }
            let gain = |gain: Option<Spread>| gain.map_or("-".into(), |gain| format!("{:.2}", gain.median));
            cells.extend(row.gains().into_iter().map(gain));
            if has_steps {
                let steps = row.same_steps.as_ref();
                let ratio = row.ours.first().and_then(|ours| Some(ours.as_ref()?.over(steps?).median));
                cells.push(steps.map_or_else(|| "-".into(), |steps| milliseconds(steps.median())));
                cells.push(ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")));
            }
            let best = row.ours.iter().flatten().min_by(|a, b| a.median().total_cmp(&b.median())).unwrap_or(&row.hand);
            cells.extend([best, &row.hand].map(|times| percent(row.bandwidth(times, self.machine.as_ref()))));
            cells.extend([best, &row.hand].map(|times| percent(row.arithmetic(times, self.machine.as_ref()))));
            cells
        };
        (head, self.rows.iter().map(row).collect())
    }

    /// What the other ways are worth over all rows: the geometric mean of what the first took over what they took. Beside it that of the
    /// shortest samples, which is nearer to the truth on a busy machine.
    fn means(&self) -> String {
        let mut text = String::new();
        let [first, others @ ..] = self.ways.as_slice() else { return text };
        for (at, way) in others.iter().enumerate() {
            let pairs =
                self.rows.iter().filter_map(|row| Some((row.ours.first()?.as_ref()?, row.ours.get(at + 1)?.as_ref()?)));
            let (medians, shortest): (Vec<f64>, Vec<f64>) =
                pairs.map(|(first, other)| (first.over(other).median, first.min / other.min)).unzip();
            if let (Some(median), Some(shortest)) = (geometric_mean(&medians), geometric_mean(&shortest)) {
                let (first, way, count) = (first.name(), way.name(), medians.len());
                let _ = writeln!(
                    text,
                    "{first} / {way}: {median:.3}, of the shortest samples {shortest:.3}, the geometric mean of {count}"
                );
            }
        }
        text
    }

    /// Ratios to the hand-written programs, with their intervals.
    pub fn svg(&self) -> String {
        let mark =
            |row: &Row, ours: &Times| Mark { label: format!("{} {}", row.program, row.size), at: row.ratio(ours) };
        let series: Vec<(String, Vec<Mark>)> = (self.ways.iter().enumerate())
            .map(|(way, name)| {
                let marks = self.rows.iter().filter_map(|row| Some(mark(row, row.ours.get(way)?.as_ref()?)));
                (name.name(), marks.collect())
            })
            .collect();
        plot::svg("time of fusebox / time of Rust", &series)
    }

    /// All of it, times in seconds.
    pub fn json(&self) -> Value {
        let times = |times: &Times| {
            let Spread { median, low, high } = times.spread;
            json!({
                "median": median, "low": low, "high": high, "min": times.min, "runs": times.runs, "samples": times.samples,
            })
        };
        let row = |row: &Row| {
            let ours: Vec<Value> = (self.ways.iter().zip(&row.ours))
                .filter_map(|(way, ours)| {
                    let ours = ours.as_ref()?;
                    let ratio = row.ratio(ours);
                    Some(json!({
                        "fusion": way.fusion.name(), "unchecked": way.unchecked, "time": times(ours),
                        "ratio": ratio.median, "ratio_low": ratio.low, "ratio_high": ratio.high,
                        "same_steps_ratio": row.same_steps.as_ref().map(|steps| ours.over(steps).median),
                        "of_bandwidth": row.bandwidth(ours, self.machine.as_ref()),
                        "of_arithmetic": row.arithmetic(ours, self.machine.as_ref()),
                    }))
                })
                .collect();
            json!({
                "program": row.program, "size": row.size, "bytes": row.work.bytes, "operations": row.work.operations,
                "rust": times(&row.hand), "same_steps": row.same_steps.as_ref().map(times), "fusebox": ours,
            })
        };
        let machine = |machine: &Machine| {
            let Machine { processor, threads, read, copy, triad, products_and_sums, fused } = machine;
            json!({
                "processor": processor, "threads": threads, "read": read, "copy": copy, "triad": triad,
                "products_and_sums": products_and_sums, "fused": fused,
            })
        };
        json!({
            "load": self.load,
            "machine": self.machine.as_ref().map(machine),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "failed": self.failed,
        })
    }
}

/// A time in three digits or four.
pub(crate) fn milliseconds(seconds: f64) -> String {
    match seconds * 1e3 {
        time if time < 1.0 => format!("{time:.4}"),
        time if time < 100.0 => format!("{time:.2}"),
        time => format!("{time:.0}"),
    }
}

/// Of numbers above 0; none of none.
pub(crate) fn geometric_mean(numbers: &[f64]) -> Option<f64> {
    let logarithms: f64 = numbers.iter().map(|number| number.ln()).sum();
    (!numbers.is_empty()).then(|| (logarithms / numbers.len() as f64).exp())
}

/// Cells in columns: the first to the left, the others to the right; as Markdown if asked for.
pub(crate) fn aligned(head: &[String], rows: &[Vec<String>], markdown: bool) -> String {
    let mut text = String::new();
    if markdown {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text += &line(head);
        text += &format!("|---{}|\n", "|---:".repeat(head.len().saturating_sub(1)));
        rows.iter().for_each(|row| text += &line(row));
        return text;
    }
    let all = || [head].into_iter().chain(rows.iter().map(Vec::as_slice));
    let width = |column: usize| all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    for row in all() {
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(text, "{cell:width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use fusebox::Fusion;

    use super::*;

    fn times(median: f64) -> Times {
        Times::new(vec![median / 2.0, median, 2.0 * median], 3)
    }

    fn report(ways: &[Way]) -> Report {
        let machine = Machine {
            processor: "one".into(),
            threads: 2,
            read: 8e9,
            copy: 1e10,
            triad: 9e9,
            products_and_sums: 1e9,
            fused: 2e9,
        };
        let row = Row {
            program: "dot",
            size: 10,
            work: Work { bytes: 5e6, operations: 0.0 },
            hand: times(1e-3),
            ours: ways.iter().zip([4e-3, 2e-3, 1e-3]).map(|(_, median)| Some(times(median))).collect(),
            same_steps: None,
        };
        Report { machine: Some(machine), load: Some(0.25), ways: ways.into(), rows: vec![row], failed: vec![] }
    }

    #[test]
    fn tables_have_ratios_and_parts() {
        let table = report(&[Fusion::None.into()]).table();
        let row: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        let expected = [
            "dot", "10", "5.0", "1.00", "100", "%", "4.00", "100", "%", "4.00", "0", "%", "12", "%", "50", "%", "-",
            "-",
        ];
        assert_eq!(row, expected, "{table}");
        assert!(table.starts_with("one, 2 threads") && table.contains("load 0.25"), "{table}");
        let markdown = report(&[Fusion::None.into()]).markdown();
        let columns = |line: &str| line.matches('|').count();
        let lines: Vec<_> = markdown.lines().skip(2).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{markdown}");
    }

    #[test]
    fn ways_of_fusion_are_compared() {
        let report = report(&Fusion::ALL.map(Way::from));
        let table = report.table();
        assert!(table.contains("none / greedy") && table.contains("none / optimal"), "{table}");
        let lines: Vec<_> = table.lines().collect();
        let row: Vec<_> = lines[2].split_whitespace().filter(|&cell| cell != "%").collect();
        assert_eq!(row[17..20], ["2.00", "4.00", "50"], "{table}");
        assert_eq!(
            lines[4], "none / optimal: 4.000, of the shortest samples 4.000, the geometric mean of 1",
            "{table}"
        );
        let json = report.json();
        assert_eq!(json["rows"][0]["fusebox"][2]["fusion"], "optimal");
        assert_eq!(json["rows"][0]["fusebox"][2]["ratio"], 1.0);
        assert_eq!(json["machine"]["copy"], 1e10);
    }

    #[test]
    fn the_same_steps_have_columns_where_some_program_has_them() {
        let mut report = report(&[Fusion::None.into()]);
        assert!(!report.table().contains("same steps"));
        report.rows[0].same_steps = Some(times(8e-3));
        let table = report.table();
        let row: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        assert!(table.contains("same steps ms") && row[12..14] == ["8.00", "0.50"], "{table}");
        assert_eq!(report.json()["rows"][0]["fusebox"][0]["same_steps_ratio"], 0.5);
    }

    #[test]
    fn the_machine_may_be_left_out() {
        let report = Report { machine: None, ..report(&[Fusion::None.into()]) };
        assert!(report.table().starts_with("load 0.25"));
        assert_eq!(report.json()["rows"][0]["fusebox"][0]["of_bandwidth"], Value::Null);
    }
}
