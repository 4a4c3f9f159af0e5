//! How each kernel runs, and why.

use std::fmt::Write;

use super::{super::escape::escape, list, marked};
use crate::Explanation;

pub(super) fn schedules(explanation: &Explanation, out: &mut String) {
    let scheduling = &explanation.scheduling;
    if scheduling.kernels.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<section id=\"schedules\">\n<h2>Schedules</h2>\n<p class=\"small\">How kernels run on a processor with {0}: which steps threads and lanes take, what is unrolled, \
         where sums are. <code>fusebox dump --stage schedule --target {0}</code> prints the same; it takes other machines too.</p>",
        escape(&scheduling.target)
    );
    *out += &list(&scheduling.steps);
    for kernel in &scheduling.kernels {
        let _ = writeln!(out, "<details><summary>{}: {}</summary>", kernel.kernel, marked(&kernel.name));
        *out += &list(&kernel.reasons);
        let _ = writeln!(out, "<pre tabindex=\"0\">{}</pre>\n</details>", escape(&kernel.text));
    }
    *out += "</section>\n";
}
