//! The passes, and what each of them changed.

use std::fmt::Write;

use super::{
    super::{
        about::Names,
        diff::{self, Change},
        escape::escape,
    },
    about, scroll,
};
use crate::{Explanation, Shown};

pub(super) fn passes(explanation: &Explanation, out: &mut String) {
    let _ = write!(
        out,
        "<section id=\"passes\">\n<h2>Passes</h2>\n{}<table>\n<thead><tr><th scope=\"col\">pass</th><th scope=\"col\">ms</th>\
         <th scope=\"col\">what it counted</th></tr></thead>\n<tbody>\n",
        scroll("Passes", "")
    );
    for stage in explanation.stages.iter().skip(1) {
        let counts: Vec<_> = stage.counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\" title=\"{}\">{}</th><td class=\"number\">{:.3}</td><td class=\"words\">{}</td></tr>",
            escape(&stage.summary),
            escape(&stage.stage),
            stage.milliseconds,
            escape(&counts.join(", "))
        );
    }
    *out += "</tbody>\n</table>\n</div>\n</section>\n";
}

pub(super) fn stages(explanation: &Explanation, names: &Names, out: &mut String) {
    let _ = write!(
        out,
        "<section id=\"stages\">\n<h2>Stages</h2>\n<p class=\"small\">Each stage against the one before it: <span class=\"line added\">lines that are new</span>, \
         <span class=\"line removed\">lines that are gone</span>, and lines that stayed.</p>\n{}",
        scroll("Stages side by side", " stages")
    );
    let mut before: Option<&Shown> = None;
    for stage in &explanation.stages {
        article(before, stage, names, out);
        before = Some(stage);
    }
    *out += "</div>\n</section>\n";
}

fn article(before: Option<&Shown>, stage: &Shown, names: &Names, out: &mut String) {
    let is_plan = |stage: &Shown| stage.text.starts_with("plan ");
    // A plan is no program: it has nothing in common with the stage before it but names.
    let before = before.filter(|before| is_plan(before) == is_plan(stage));
    let lines = match before {
        Some(before) => diff::lines(&before.text, &stage.text),
        None => stage.text.lines().map(|line| (Change::Kept, line)).collect(),
    };
    let count = |change| lines.iter().filter(|line| line.0 == change).count();
    let (added, removed) = (count(Change::Added), count(Change::Removed));
    let what = match before {
        Some(_) if added + removed == 0 => "unchanged".to_owned(),
        Some(_) => format!("{added} new, {removed} gone, {} kept", count(Change::Kept)),
        None if is_plan(stage) => "another form: steps and kernels".to_owned(),
        None => String::new(),
    };
    let _ = writeln!(
        out,
        "<article><h3>{} <span class=\"change\">{what}</span></h3><p class=\"small\">{}</p>",
        escape(&stage.stage),
        escape(&stage.summary)
    );
    let unchanged = before.is_some() && added + removed == 0;
    if unchanged {
        *out += "<details><summary>its text</summary>";
    }
    // Lines that are gone are about what they were about in the stage before.
    let of = |stage: &Shown| {
        let lines = stage.text.lines();
        if is_plan(stage) { names.of_plan(lines) } else { names.of_program(lines) }
    };
    let (mut old, mut new) = (before.map(of).unwrap_or_default().into_iter(), of(stage).into_iter());
    *out += "<pre tabindex=\"0\">";
    for (change, line) in lines {
        let (mut gone, mut here) = (None, None);
        if change != Change::Added {
            gone = old.next();
        }
        if change != Change::Removed {
            here = new.next();
        }
        let class = match change {
            Change::Kept => "",
            Change::Added => " added",
            Change::Removed => " removed",
        };
        let names = here.or(gone).unwrap_or_default();
        // The end of the line stands inside, so that the text is right without the style and has no empty lines with it.
        let _ = write!(out, "<span class=\"line{class}\"{}>{}\n</span>", about(&names), escape(line));
    }
    *out += if unchanged { "</pre></details></article>\n" } else { "</pre></article>\n" };
}
