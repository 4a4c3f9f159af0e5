//! What was measured, as a table, as Markdown, as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{compiled::Fusion, machine::Machine, measure::Times, program::Work};

/// All that was measured.
pub struct Report {
    /// What the machine can do.
    pub machine: Machine,
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
    /// The program, for each way of fusion.
    pub ours: Vec<Times>,
}

impl Row {
    /// Time of the program over that of the hand-written one.
    fn ratio(&self, ours: &Times) -> f64 {
        ours.median / self.hand.median
    }

    /// The fraction of the machine's bandwidth that the least traffic in this time is.
    fn bandwidth(&self, times: &Times, machine: &Machine) -> f64 {
        self.work.bytes / times.median / machine.bandwidth()
    }

    /// The fraction of the machine's arithmetic that the least operations in this time are.
    fn arithmetic(&self, times: &Times, machine: &Machine) -> f64 {
        self.work.operations / times.median / machine.products_and_sums
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
        let Machine { processor, threads, read, copy, triad, products_and_sums, fused } = &self.machine;
        let giga = |value: f64| format!("{:.1}", value / 1e9);
        format!(
            "{processor}, {threads} threads; GB/s: read {}, copy {}, triad {}; Gop/s, f32: product and sum {}, fused {}; load {}\n",
            giga(*read),
            giga(*copy),
            giga(*triad),
            giga(*products_and_sums),
            giga(*fused),
            self.load.map_or_else(|| "unknown".into(), |load| format!("{load:.2}")),
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
        let percent = |part: f64| if part > 0.0 { format!("{:.0} %", 100.0 * part) } else { "-".into() };
        let row = |row: &Row| {
            let megabytes = format!("{:.1}", row.work.bytes / 1e6);
            let mut cells = vec![row.program.to_owned(), row.size.to_string(), megabytes];
            cells.extend([milliseconds(row.hand.median), milliseconds(row.hand.min)]);
            for ours in &row.ours {
                cells.extend([milliseconds(ours.median), milliseconds(ours.min), format!("{:.2}", row.ratio(ours))]);
            }
            if let [none, others @ ..] = row.ours.as_slice() {
                cells.extend(others.iter().map(|times| format!("{:.2}", none.median / times.median)));
            }
            let best = row.ours.iter().min_by(|a, b| a.median.total_cmp(&b.median)).unwrap_or(&row.hand);
            cells.extend([best, &row.hand].map(|times| percent(row.bandwidth(times, &self.machine))));
            cells.extend([best, &row.hand].map(|times| percent(row.arithmetic(times, &self.machine))));
            cells
        };
        (head, self.rows.iter().map(row).collect())
    }

    /// All of it, times in seconds.
    pub fn json(&self) -> Value {
        let Machine { processor, threads, read, copy, triad, products_and_sums, fused } = &self.machine;
        let times = |times: &Times| json!({ "median": times.median, "min": times.min, "runs": times.runs });
        let row = |row: &Row| {
            let ours: Vec<Value> = self
                .fusions
                .iter()
                .zip(&row.ours)
                .map(|(fusion, ours)| {
                    json!({
                        "fusion": fusion.name(), "time": times(ours), "ratio": row.ratio(ours),
                        "of_bandwidth": row.bandwidth(ours, &self.machine),
                        "of_arithmetic": row.arithmetic(ours, &self.machine),
                    })
                })
                .collect();
            json!({
                "program": row.program, "size": row.size, "bytes": row.work.bytes, "operations": row.work.operations,
                "rust": times(&row.hand), "fusebox": ours,
            })
        };
        json!({
            "machine": {
                "processor": processor, "threads": threads, "read": read, "copy": copy, "triad": triad,
                "products_and_sums": products_and_sums, "fused": fused, "load": self.load,
            },
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "failed": self.failed,
        })
    }
}
