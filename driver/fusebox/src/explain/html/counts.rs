//! The table of counts, before and after.

use std::fmt::Write;

use fusebox_ir::analysis::counts::Traffic;

use super::{
    super::{
        escape::escape,
        sentences::{caveat, counts, region, regions},
    },
    marked, scroll,
};
use crate::Explanation;

pub(super) fn table(explanation: &Explanation, out: &mut String) {
    let rows = counts(explanation);
    if rows.is_empty() {
        *out += "<section id=\"counts\">\n<h2>Counts</h2>\n<p>Nothing is counted without a plan.</p>\n</section>\n";
        return;
    }
    let _ = write!(
        out,
        "<section id=\"counts\">\n<h2>Counts</h2>\n{}<table>\n<thead><tr><td></td><th scope=\"col\">before</th><th scope=\"col\">after</th></tr></thead>\n<tbody>\n",
        scroll("Counts", "")
    );
    for (what, before, after) in rows {
        let changed = if before == after { "" } else { " class=\"changed\"" };
        let _ = writeln!(
            out,
            "<tr{changed}><th scope=\"row\">{what}</th><td>{}</td><td>{}</td></tr>",
            escape(&before),
            escape(&after)
        );
    }
    *out += "</tbody>\n</table>\n</div>\n<p class=\"small\">Before: without fusion. Loops are nests of loops over memory. Reads and writes are elements, in the sizes of \
             the program; scalars are counted only where a loop reads them.";
    if let Some(caveat) = caveat(explanation) {
        let _ = write!(out, " {}", escape(caveat));
    }
    *out += "</p>\n";
    let regions = regions(explanation);
    if !regions.is_empty() {
        let _ = write!(
            out,
            "<h3>Inside of control</h3>\n{}<table>\n<thead><tr><td></td><th scope=\"col\">loops</th><th scope=\"col\">reads</th>\
             <th scope=\"col\">writes</th></tr></thead>\n<tbody>\n",
            scroll("Counts inside of control", "")
        );
        for part in regions {
            let Traffic { loops, reads, writes, .. } = &part.each;
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\" style=\"padding-left:{}em\">{}</th><td>{loops}</td><td>{}</td><td>{}</td></tr>",
                part.depth as f64 + 0.6,
                marked(&region(part)),
                escape(&reads.to_string()),
                escape(&writes.to_string())
            );
        }
        *out += "</tbody>\n</table>\n</div>\n";
    }
    *out += "</section>\n";
}
