//! Ratios as a drawing: a line for each program, a mark at its median, a bar over its interval.

use std::fmt::Write;

use crate::measure::Spread;

/// A ratio that is drawn.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Whose it is.
    pub label: String,
    /// Where.
    pub at: Spread,
}

/// Units: pixels.
const LINE: f64 = 18.0;
const LABELS: f64 = 220.0;
const WIDTH: f64 = 560.0;
const TOP: f64 = 56.0;
/// Colours that are told apart by those who do not see all of them (Okabe and Ito).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// A drawing of ratios on a logarithmic axis, which has a line at 1: one series of marks for each name.
pub fn svg(title: &str, series: &[(String, Vec<Mark>)]) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for mark in series.iter().flat_map(|(_, marks)| marks) {
        if !labels.contains(&mark.label.as_str()) {
            labels.push(&mark.label);
        }
    }
    let marks = || series.iter().flat_map(|(_, marks)| marks).map(|mark| mark.at);
    let drawn = |number: f64| number.is_finite() && number > 0.0;
    let ends = || marks().flat_map(|at| [at.low, at.high]).filter(|&end| drawn(end)).map(f64::log2);
    let (least, most) = (ends().fold(-1.0, f64::min).floor(), ends().fold(1.0, f64::max).ceil());
    let x = |ratio: f64| LABELS + (ratio.log2() - least) / (most - least) * WIDTH;
    let y = |line: usize| TOP + (line as f64 + 0.5) * LINE;
    let (width, bottom) = (LABELS + WIDTH + 20.0, TOP + labels.len() as f64 * LINE);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LABELS}\" y=\"16\" font-size=\"14\">{}</text>\n",
        bottom + 24.0,
        escaped(title)
    );
    for (number, (name, _)) in series.iter().enumerate().filter(|_| series.len() > 1) {
        let (at, colour) = (LABELS + 150.0 * number as f64, COLOURS[number % COLOURS.len()]);
        let _ = writeln!(text, "<text x=\"{at}\" y=\"34\" fill=\"{colour}\">{}</text>", escaped(name));
    }
    for power in least as i32..=most as i32 {
        let (at, colour) = (x(f64::from(power).exp2()), if power == 0 { "black" } else { "#cccccc" });
        let _ =
            writeln!(text, "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"{colour}\"/>");
        let number = f64::from(power).exp2();
        let _ = writeln!(text, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{number}</text>", bottom + 16.0);
    }
    for (line, label) in labels.iter().enumerate() {
        let (at, below) = (LABELS - 8.0, y(line) + 4.0);
        let _ = writeln!(text, "<text x=\"{at}\" y=\"{below}\" text-anchor=\"end\">{}</text>", escaped(label));
    }
    for (number, (_, marks)) in series.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        for Mark { label, at } in marks.iter().filter(|mark| [mark.at.low, mark.at.median].into_iter().all(drawn)) {
            let line = labels.iter().position(|own| own == label).unwrap_or(0);
            let y = y(line) + 4.0 * (number as f64 - 0.5 * (series.len() as f64 - 1.0));
            let (low, high) = (x(at.low), x(at.high));
            let _ = writeln!(
                text,
                "<line x1=\"{low:.1}\" y1=\"{y}\" x2=\"{high:.1}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            );
            let (at, ratio) = (x(at.median), at.median);
            let label = escaped(label);
            let _ = writeln!(
                text,
                "<circle cx=\"{at:.1}\" cy=\"{y}\" r=\"3.5\" fill=\"{colour}\"><title>{label}: {ratio:.3}</title></circle>"
            );
        }
    }
    text + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(label: &str, low: f64, median: f64, high: f64) -> Mark {
        Mark { label: label.into(), at: Spread { median, low, high } }
    }

    /// Where the marks are, from left to right.
    fn places(svg: &str) -> Vec<f64> {
        let rest = svg.split("cx=\"").skip(1);
        rest.filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
    }

    #[test]
    fn marks_are_where_their_ratios_are() {
        let marks = vec![mark("dot 1", 0.4, 0.5, 0.6), mark("a<b", 1.0, 1.0, 1.0), mark("c", 1.9, 2.0, 2.0)];
        let drawn = svg("ratio", &[("one".into(), marks)]);
        // From a half to 2, or rather from a quarter, since an interval reaches below a half.
        assert_eq!(
            places(&drawn),
            [LABELS + WIDTH / 3.0, LABELS + 2.0 * WIDTH / 3.0, LABELS + WIDTH].map(|x| (x * 10.0).round() / 10.0)
        );
        assert!(drawn.contains("a&lt;b") && drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"), "{drawn}");
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        let marks = vec![mark("a", 0.0, 0.0, 0.0), mark("b", f64::NAN, f64::NAN, f64::NAN)];
        let drawn = svg("none", &[("one".into(), marks), ("two".into(), vec![])]);
        assert_eq!(places(&drawn), [0.0; 0]);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
