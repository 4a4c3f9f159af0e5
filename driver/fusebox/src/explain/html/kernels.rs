//! What each kernel moves and computes, for sizes that are typed in, and what it took.

use std::fmt::Write;

use fusebox_ir::analysis::counts::Polynomial;
use serde_json::json;

use super::{
    super::{
        escape::escape,
        moves::{bytes, operations, speed},
    },
    about, marked, scroll,
};
use crate::{Explanation, KernelMoves};

pub(super) fn kernels(explanation: &Explanation, out: &mut String) {
    *out += "<section id=\"kernels\">\n<h2>Kernels</h2>\n";
    if explanation.kernels.is_empty() {
        *out += "<p>There are none without a plan.</p>\n</section>\n";
        return;
    }
    let names = explanation.size_names();
    if !names.is_empty() {
        *out += "<form id=\"sizes\" class=\"sizes\" autocomplete=\"off\">\n";
        for name in &names {
            let _ = writeln!(
                out,
                "<label><code>{0}</code> <input type=\"number\" name=\"{0}\" step=\"1\" value=\"{1}\"></label>",
                escape(name),
                explanation.size(name)
            );
        }
        *out += "</form>\n";
    }
    let timed = explanation.kernels.iter().any(|kernel| kernel.time.is_some());
    let _ = write!(
        out,
        "{}<table id=\"moves\">\n<thead><tr><th scope=\"col\">kernel</th><th scope=\"col\">launches</th><th scope=\"col\">reads</th>\
         <th scope=\"col\">writes</th><th scope=\"col\">flops</th>",
        scroll("Kernels", "")
    );
    if timed {
        *out += "<th scope=\"col\">time</th><th scope=\"col\">share</th><th scope=\"col\">speed</th>";
    }
    *out += "</tr></thead>\n<tbody>\n";
    let whole: f64 =
        explanation.kernels.iter().filter_map(|kernel| kernel.time.as_ref()).map(|time| time.milliseconds).sum();
    for kernel in &explanation.kernels {
        row(explanation, kernel, timed.then_some(whole), out);
    }
    let sum = |get: fn(&KernelMoves) -> &Polynomial| {
        let all = explanation.kernels.iter().map(get);
        all.fold(Polynomial::default(), |sum, count| sum.plus(count))
    };
    *out += "</tbody>\n<tfoot><tr><th scope=\"row\">all</th><td></td>";
    let sums = [sum(|kernel| &kernel.bytes_read), sum(|kernel| &kernel.bytes_written), sum(|kernel| &kernel.flops)];
    for (count, number) in sums.iter().zip([bytes, bytes, operations]) {
        *out += &cell(explanation, count, number);
    }
    if timed {
        let _ = write!(out, "<td class=\"number\">{whole:.3} ms</td><td></td><td></td>");
    }
    *out += "</tr></tfoot>\n</table>\n</div>\n<p class=\"small\">Bytes of the elements that a launch reads and writes, whether memory or a cache has them; B are bytes, \
             kB 1,000 of them. Flops are operations on floats: additions, subtractions, multiplications, divisions, remainders, square roots, minima and maxima are \
             one each, a fused multiply-add two; of branches the one with more, of loops in scalar code one turn. Scalar code between loops, copies and sorts are \
             no kernels; the counts above have copies and sorts.";
    if explanation.kernels.iter().any(|kernel| kernel.repeated) {
        *out += " Launches marked <em>repeated</em> stand in a loop or a branch, and are counted once.";
    }
    if timed {
        *out += " Time is that of all launches of one run. Speed is what they read and wrote, by their time; the bytes are those of the run.";
    }
    *out += "</p>\n</section>\n";
}

fn row(explanation: &Explanation, kernel: &KernelMoves, whole: Option<f64>, out: &mut String) {
    let repeated = if kernel.repeated { " <em>repeated</em>" } else { "" };
    let _ = write!(
        out,
        "<tr{}><th scope=\"row\">{}: {}</th><td>{}{repeated}</td>",
        about(&kernel.operations),
        kernel.kernel,
        marked(&kernel.name),
        kernel.launches
    );
    for (count, number) in
        [(&kernel.bytes_read, bytes as fn(i64) -> String), (&kernel.bytes_written, bytes), (&kernel.flops, operations)]
    {
        *out += &cell(explanation, count, number);
    }
    match (whole, &kernel.time) {
        (None, _) => {}
        (Some(_), None) => *out += "<td colspan=\"3\" class=\"words\">not launched</td>",
        (Some(whole), Some(time)) => {
            let share = if whole > 0.0 { 100.0 * time.milliseconds / whole } else { 0.0 };
            let _ = write!(
                out,
                "<td class=\"number time\">{:.3} ms{}</td><td class=\"share\"><span style=\"width:{share:.0}%\"></span>{share:.1} %</td><td class=\"number time\">{}</td>",
                time.milliseconds,
                if time.launches == 1 { String::new() } else { format!("<small>{} launches</small>", time.launches) },
                speed(time)
            );
        }
    }
    *out += "</tr>\n";
}

/// A count: its value for the sizes that the page begins with, its expression, and its terms for the script.
fn cell(explanation: &Explanation, count: &Polynomial, number: fn(i64) -> String) -> String {
    let value = count.evaluate(&|name| Some(explanation.size(name)));
    let terms = json!(count)["terms"].to_string();
    format!(
        "<td class=\"number\"><output data-count=\"{}\" title=\"{}\">{}</output><small>{}</small></td>",
        escape(&terms),
        value.map_or(String::new(), |value| value.to_string()),
        value.map_or("?".to_owned(), number),
        escape(&count.to_string())
    )
}
