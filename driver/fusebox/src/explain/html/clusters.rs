//! Drawings of clusters, why pairs are apart, and how nests are held.

use std::fmt::Write;

use super::{
    super::{
        escape::escape,
        held::LEGEND,
        sentences::{choices, clusterings, pair, search},
        svg,
    },
    about, list, marked, scroll,
};
use crate::{Explanation, Link};

pub(super) fn graphs(explanation: &Explanation, out: &mut String) {
    *out += "<section id=\"clusters\">\n<h2>Clusters</h2>\n";
    legend(out);
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
        let _ =
            writeln!(out, "{}{}\n</div>", scroll(&format!("Graph of {title}"), " graph"), svg::graph(graph, number));
    }
    if let Some(search) = search(explanation) {
        let _ = writeln!(out, "<details><summary>How producers were fused</summary>\n<p>{}.</p>", marked(&search));
        *out += &list(&choices(explanation));
        *out += "</details>\n";
    }
    let clusterings = clusterings(explanation);
    if !clusterings.is_empty() {
        let _ = writeln!(out, "<details><summary>How clusters were found</summary>\n{}</details>", list(&clusterings));
    }
    *out += "</section>\n";
}

fn legend(out: &mut String) {
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
             <strong>filled</strong> a result</li>\n</ul>\n\
             <p class=\"small script\">Choose an operation, a kernel or a line of a stage: all that belongs to it is marked on the page. Escape ends that.</p>\n";
}

pub(super) fn apart(explanation: &Explanation, out: &mut String) {
    *out += "<section id=\"apart\">\n<h2>Not fused</h2>\n";
    if explanation.apart.is_empty() {
        *out += "<p>Every pair that might be fused is.</p>\n";
    } else {
        *out += "<ul>\n";
        for apart in &explanation.apart {
            let names = [apart.first.clone(), apart.second.clone()];
            let _ = writeln!(out, "<li{}>{}</li>", about(&names), marked(&pair(apart)));
        }
        *out += "</ul>\n";
    }
    let regions = explanation.clustering.iter().flat_map(|report| &report.regions);
    let more: usize = regions.map(|region| region.apart_left_out).sum();
    if more > 0 {
        let _ = writeln!(out, "<p>… and {more} pairs more.</p>");
    }
    *out += "</section>\n";
}

/// How the values of nests are held, coloured.
pub(super) fn held(explanation: &Explanation, out: &mut String) {
    if explanation.held.is_empty() {
        return;
    }
    *out += "<section id=\"held\">\n<h2>Nests</h2>\n<p>How flattening holds what is inside of nests, and arrays of arrays.</p>\n\
             <ul class=\"legend\" aria-label=\"Legend of representations\">\n";
    for (name, meaning) in LEGEND {
        let _ = writeln!(out, "<li><span class=\"held {name}\">{name}</span> {meaning}</li>");
    }
    let _ = write!(
        out,
        "</ul>\n{}<table>\n<thead><tr><th scope=\"col\">value</th><th scope=\"col\">is</th><th scope=\"col\">why</th>\
         <th scope=\"col\">where</th></tr></thead>\n<tbody>\n",
        scroll("How values of nests are held", "")
    );
    for line in &explanation.held {
        let _ = writeln!(
            out,
            "<tr{}><th scope=\"row\" style=\"padding-left:{}em\">{} <code>{}</code></th><td><span class=\"held {4}\">{4}</span></td>\
             <td class=\"words\">{5}</td><td>{6}</td></tr>",
            about(std::slice::from_ref(&line.name)),
            line.depth as f64 + 0.6,
            line.operation,
            escape(&line.name),
            line.representation,
            marked(&line.why),
            escape(&line.place)
        );
    }
    *out += "</tbody>\n</table>\n</div>\n</section>\n";
}
