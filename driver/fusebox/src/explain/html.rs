//! An explanation as one HTML page that loads nothing else.

use std::fmt::Write;

use fusebox_ir::analysis::counts::Traffic;

use super::{
    escape::escape,
    sentences::{caveat, choices, clusterings, counts, pair, region, regions, search},
    svg,
};
use crate::{Explanation, Link};

const STYLE: &str = include_str!("page.css");

/// A sentence whose names, between backquotes, are code.
fn marked(text: &str) -> String {
    let mut out = String::new();
    let parts: Vec<&str> = text.split('`').collect();
    let whole = parts.len() % 2 == 1;
    for (at, part) in parts.iter().enumerate() {
        match (whole, at % 2) {
            (true, 1) => out += &format!("<code>{}</code>", escape(part)),
            (true, _) => out += &escape(part),
            (false, _) => out += &format!("{}{}", if at == 0 { "" } else { "`" }, escape(part)),
        }
    }
    out
}

fn list(lines: &[String]) -> String {
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", marked(line))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// The page.
pub(super) fn page(explanation: &Explanation) -> String {
    let name = escape(&explanation.program);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<title>{name}: how it is fused</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{name}</h1>\n\
         <p>{}</p>\n<nav aria-label=\"On this page\"><a href=\"#counts\">Counts</a> <a href=\"#clusters\">Clusters</a> \
         <a href=\"#apart\">Not fused</a> <a href=\"#passes\">Passes</a> <a href=\"#stages\">Stages</a></nav>\n</header>\n<main>\n",
        headline(explanation)
    );
    if let Some(stopped) = &explanation.stopped {
        let _ = writeln!(
            out,
            "<section class=\"stopped\" role=\"note\"><h2>Pass <code>{}</code> stopped</h2><pre>{}</pre></section>",
            escape(&stopped.pass),
            escape(&stopped.why)
        );
    }
    table(explanation, &mut out);
    graphs(explanation, &mut out);
    apart(explanation, &mut out);
    passes(explanation, &mut out);
    stages(explanation, &mut out);
    out += "</main>\n</body>\n</html>\n";
    out
}

fn headline(explanation: &Explanation) -> String {
    let fusion = format!("fusion <strong>{}</strong>", explanation.fusion);
    match (&explanation.before, &explanation.after) {
        (Some(before), Some(after)) if before != after => {
            let loops = |count: u64| format!("{count} loop{}", if count == 1 { "" } else { "s" });
            format!("{fusion}: {} became {}.", loops(before.loops), loops(after.loops))
        }
        _ => format!("{fusion}."),
    }
}

fn table(explanation: &Explanation, out: &mut String) {
    let rows = counts(explanation);
    if rows.is_empty() {
        *out += "<section id=\"counts\">\n<h2>Counts</h2>\n<p>Nothing is counted without a plan.</p>\n</section>\n";
        return;
    }
    *out += "<section id=\"counts\">\n<h2>Counts</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Counts\">\n\
             <table>\n<thead><tr><td></td><th scope=\"col\">before</th><th scope=\"col\">after</th></tr></thead>\n<tbody>\n";
    for (what, before, after) in rows {
        let changed = if before == after { "" } else { " class=\"changed\"" };
        let _ = writeln!(
            out,
            "<tr{changed}><th scope=\"row\">{what}</th><td>{}</td><td>{}</td></tr>",
            escape(&before),
            escape(&after)
        );
    }
    *out += "</tbody>\n</table>\n</div>\n";
    *out += "<p class=\"small\">Before: without fusion. Reads and writes are elements, in the sizes of the program; of scalars those that loops use.";
    if let Some(caveat) = caveat(explanation) {
        let _ = write!(out, " {}", escape(caveat));
    }
    *out += "</p>\n";
    let regions = regions(explanation);
    if !regions.is_empty() {
        *out += "<h3>Inside of control</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Counts inside of control\">\n<table>\n\
                 <thead><tr><td></td><th scope=\"col\">loops</th><th scope=\"col\">reads</th><th scope=\"col\">writes</th></tr></thead>\n<tbody>\n";
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

fn graphs(explanation: &Explanation, out: &mut String) {
    *out += "<section id=\"clusters\">\n<h2>Clusters</h2>\n";
    if let Some(search) = search(explanation) {
        let _ = writeln!(out, "<p>Producers: {}.</p>", marked(&search));
        let choices = choices(explanation);
        if !choices.is_empty() {
            *out += &list(&choices);
        }
    }
    let clusterings = clusterings(explanation);
    if !clusterings.is_empty() {
        *out += &list(&clusterings);
    }
    *out += "<ul class=\"legend\" aria-label=\"Legend\">\n";
    for link in Link::ALL {
        let _ = writeln!(
            out,
            "<li><svg width=\"34\" height=\"12\" aria-hidden=\"true\"><path class=\"edge {0}\" d=\"M2 6L32 6\"/></svg> <strong>{0}</strong> {1}</li>",
            link.name(),
            link.meaning()
        );
    }
    *out += "<li><svg width=\"34\" height=\"18\" aria-hidden=\"true\"><g class=\"node operation\"><rect x=\"2\" y=\"1\" width=\"30\" height=\"16\" rx=\"3\"/>\
             <rect class=\"stored\" x=\"5\" y=\"4\" width=\"24\" height=\"10\" rx=\"2\"/></g></svg> <strong>two frames</strong> stored</li>\n\
             <li><svg width=\"34\" height=\"18\" aria-hidden=\"true\"><g class=\"node operation result\"><rect x=\"2\" y=\"1\" width=\"30\" height=\"16\" rx=\"3\"/></g></svg> \
             <strong>filled</strong> a result</li>\n</ul>\n";
    for (number, graph) in explanation.graphs.iter().enumerate() {
        let title = if graph.path.is_empty() { "The program".to_owned() } else { graph.path.clone() };
        let _ = writeln!(out, "<h3>{}</h3>", escape(&title));
        if graph.nodes.len() > svg::MOST_NODES {
            let _ = writeln!(
                out,
                "<p>{} nodes are too many for a picture; the stages below and <code>--format dot</code> have them.</p>",
                graph.nodes.len()
            );
            continue;
        }
        let _ = writeln!(
            out,
            "<div class=\"scroll graph\" tabindex=\"0\" role=\"region\" aria-label=\"Graph of {}\">\n{}\n</div>",
            escape(&title),
            svg::graph(graph, number)
        );
    }
    *out += "</section>\n";
}

fn apart(explanation: &Explanation, out: &mut String) {
    *out += "<section id=\"apart\">\n<h2>Not fused</h2>\n";
    if explanation.apart.is_empty() {
        *out += "<p>Every pair that might be fused is.</p>\n";
    } else {
        *out += &list(&explanation.apart.iter().map(pair).collect::<Vec<_>>());
    }
    let regions = explanation.clustering.iter().flat_map(|report| &report.regions);
    let more: usize = regions.map(|region| region.apart_left_out).sum();
    if more > 0 {
        let _ = writeln!(out, "<p>… and {more} pairs more.</p>");
    }
    *out += "</section>\n";
}

fn passes(explanation: &Explanation, out: &mut String) {
    *out += "<section id=\"passes\">\n<h2>Passes</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Passes\">\n<table>\n\
             <thead><tr><th scope=\"col\">pass</th><th scope=\"col\">ms</th><th scope=\"col\">what it counted</th></tr></thead>\n<tbody>\n";
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

fn stages(explanation: &Explanation, out: &mut String) {
    *out += "<section id=\"stages\">\n<h2>Stages</h2>\n<div class=\"stages\" tabindex=\"0\" role=\"region\" aria-label=\"Stages side by side\">\n";
    for stage in &explanation.stages {
        let _ = writeln!(
            out,
            "<article><h3>{}</h3><p class=\"small\">{}</p><pre tabindex=\"0\">{}</pre></article>",
            escape(&stage.stage),
            escape(&stage.summary),
            escape(&stage.text)
        );
    }
    *out += "</div>\n</section>\n";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_program_is_markup() {
        assert_eq!(escape("<a href='x'>\"&\u{1}"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\u{fffd}");
        assert_eq!(marked("`a<b` is <not>"), "<code>a&lt;b</code> is &lt;not&gt;");
        assert_eq!(marked("a ` alone <"), "a ` alone &lt;");
    }
}
