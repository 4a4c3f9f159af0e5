//! What was measured, as a table, as Markdown, as JSON.

use std::fmt::Write;

use fusebox::Fusion;
use serde_json::{Value, json};

use crate::{machine::Machine, measure::Times, program::Work};

/// All that was measured.
pub struct Report {
    /// What the machine can do, if it was measured.
    pub machine: Option<Machine>,
    /// How many programs wanted to run when the measurements began, if the system tells: about 0 on an idle machine.
    pub load: Option<f64>,
    /// The ways of fusion that were measured, in the order of [`Row::ours`].
    pub fusions: Vec<Fusion>,
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
    /// The program, for each way of fusion that was measured.
    pub ours: Vec<Option<Times>>,
}

impl Row {
    /// Time of the program over that of the hand-written one.
    fn ratio(&self, ours: &Times) -> f64 {
        ours.median / self.hand.median
    }

    /// The fraction of the machine's bandwidth that the least traffic in this time is.
    fn bandwidth(&self, times: &Times, machine: Option<&Machine>) -> Option<f64> {
        Some(self.work.bytes / times.median / machine?.bandwidth()).filter(|part| *part > 0.0)
    }

    /// The fraction of the machine's arithmetic that the least operations in this time are.
    fn arithmetic(&self, times: &Times, machine: Option<&Machine>) -> Option<f64> {
        Some(self.work.operations / times.median / machine?.products_and_sums).filter(|part| *part > 0.0)
    }
}

impl Report {
    /// One line for each program and size.
    pub fn table(&self) -> String {
        let (head, rows) = self.cells();
        let widths: Vec<usize> = (0..head.len())
            .map(|column| rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        let mut text = self.preface();
        for row in [&head].into_iter().chain(&rows) {
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

    /// The same as a table in Markdown.
    pub fn markdown(&self) -> String {
        let (head, rows) = self.cells();
        let mut text = self.preface();
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text += "\n";
        text += &line(&head);
        text += &format!("|---{}|\n", "|---:".repeat(head.len() - 1));
        for row in &rows {
            text += &line(row);
        }
        text
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
        let several = self.fusions.len() > 1;
        let mut head: Vec<String> = ["program", "size", "MB", "Rust ms", "Rust min"].map(String::from).into();
        for fusion in &self.fusions {
            let name = if several { fusion.to_string() } else { "fusebox".into() };
            head.extend([format!("{name} ms"), format!("{name} min"), "ratio".into()]);
        }
        if several {
            head.extend(self.fusions[1..].iter().map(|fusion| format!("none / {fusion}")));
        }
        head.extend(["of bandwidth", "Rust's", "of arithmetic", "Rust's"].map(String::from));
        let milliseconds = |seconds: f64| match seconds * 1e3 {
            time if time < 1.0 => format!("{time:.4}"),
            time if time < 100.0 => format!("{time:.2}"),
            time => format!("{time:.0}"),
        };
        let percent = |part: Option<f64>| part.map_or_else(|| "-".into(), |part| format!("{:.0} %", 100.0 * part));
        let row = |row: &Row| {
            let megabytes = format!("{:.1}", row.work.bytes / 1e6);
            let mut cells = vec![row.program.to_owned(), row.size.to_string(), megabytes];
            cells.extend([milliseconds(row.hand.median), milliseconds(row.hand.min)]);
            for ours in &row.ours {
                cells.extend(match ours {
                    Some(ours) => {
                        [milliseconds(ours.median), milliseconds(ours.min), format!("{:.2}", row.ratio(ours))]
                    }
                    None => ["-", "-", "-"].map(String::from),
                });
            }
            if let [none, others @ ..] = row.ours.as_slice() {
                let gain = |times: &Option<Times>| Some(none.as_ref()?.median / times.as_ref()?.median);
                cells.extend(others.iter().map(|times| gain(times).map_or("-".into(), |gain| format!("{gain:.2}"))));
            }
            let best = row.ours.iter().flatten().min_by(|a, b| a.median.total_cmp(&b.median)).unwrap_or(&row.hand);
            cells.extend([best, &row.hand].map(|times| percent(row.bandwidth(times, self.machine.as_ref()))));
            cells.extend([best, &row.hand].map(|times| percent(row.arithmetic(times, self.machine.as_ref()))));
            cells
        };
        (head, self.rows.iter().map(row).collect())
    }

    /// All of it, times in seconds.
    pub fn json(&self) -> Value {
        let times = |times: &Times| json!({ "median": times.median, "min": times.min, "runs": times.runs });
        let row = |row: &Row| {
            let ours: Vec<Value> = self
                .fusions
                .iter()
                .zip(&row.ours)
                .filter_map(|(fusion, ours)| {
                    let ours = ours.as_ref()?;
                    Some(json!({
                        "fusion": fusion.name(), "time": times(ours), "ratio": row.ratio(ours),
                        "of_bandwidth": row.bandwidth(ours, self.machine.as_ref()),
                        "of_arithmetic": row.arithmetic(ours, self.machine.as_ref()),
                    }))
                })
                .collect();
            json!({
                "program": row.program, "size": row.size, "bytes": row.work.bytes, "operations": row.work.operations,
                "rust": times(&row.hand), "fusebox": ours,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn times(median: f64) -> Times {
        Times { median, min: median / 2.0, runs: 3 }
    }

    fn report(fusions: &[Fusion]) -> Report {
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
            ours: fusions.iter().zip([4e-3, 2e-3, 1e-3]).map(|(_, median)| Some(times(median))).collect(),
        };
        Report { machine: Some(machine), load: Some(0.25), fusions: fusions.into(), rows: vec![row], failed: vec![] }
    }

    #[test]
    fn tables_have_ratios_and_parts() {
        let table = report(&[Fusion::None]).table();
        let row: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        let expected = ["dot", "10", "5.0", "1.00", "0.5000", "4.00", "2.00", "4.00", "12", "%", "50", "%", "-", "-"];
        assert_eq!(row, expected, "{table}");
        assert!(table.starts_with("one, 2 threads") && table.contains("load 0.25"), "{table}");
        let markdown = report(&[Fusion::None]).markdown();
        let columns = |line: &str| line.matches('|').count();
        let lines: Vec<_> = markdown.lines().skip(2).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{markdown}");
    }

    #[test]
    fn ways_of_fusion_are_compared() {
        let report = report(&Fusion::ALL);
        let table = report.table();
        assert!(table.contains("none / greedy") && table.contains("none / optimal"), "{table}");
        let row: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(row[14..18], ["2.00", "4.00", "50", "%"], "{table}");
        let json = report.json();
        assert_eq!(json["rows"][0]["fusebox"][2]["fusion"], "optimal");
        assert_eq!(json["rows"][0]["fusebox"][2]["ratio"], 1.0);
        assert_eq!(json["machine"]["copy"], 1e10);
    }

    #[test]
    fn the_machine_may_be_left_out() {
        let report = Report { machine: None, ..report(&[Fusion::None]) };
        assert!(report.table().starts_with("load 0.25"));
        assert_eq!(report.json()["rows"][0]["fusebox"][0]["of_bandwidth"], Value::Null);
    }
}
