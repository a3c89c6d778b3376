//! Lines over linear axes, as SVG: enough to see whether a cost grows as it should.
//!
//! Written by hand, because a plotting library would be the largest dependency of these tools.

use std::fmt::Write as _;

/// Points that belong together.
pub(crate) struct Series {
    /// For the legend.
    pub(crate) name: String,
    /// From left to right.
    pub(crate) points: Vec<(f64, f64)>,
}

/// What is drawn.
pub(crate) struct Plot {
    /// Above it.
    pub(crate) title: String,
    /// Below the horizontal axis.
    pub(crate) x: String,
    /// Above the vertical axis.
    pub(crate) y: String,
    /// In the legend's order.
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 52.0;

/// Told apart without colour vision, too (Okabe and Ito).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

impl Plot {
    /// The SVG document.
    pub(crate) fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x_ticks = ticks(points().map(|point| point.0).fold(0.0, f64::max));
        let y_ticks = ticks(points().map(|point| point.1).fold(0.0, f64::max));
        let last = |ticks: &[f64]| ticks.last().copied().unwrap_or(1.0);
        let (x_end, y_end) = (last(&x_ticks), last(&y_ticks));
        let at_x = |x: f64| LEFT + x / x_end * (WIDTH - LEFT - RIGHT);
        let at_y = |y: f64| HEIGHT - BOTTOM - y / y_end * (HEIGHT - TOP - BOTTOM);

        let mut body = String::new();
        let mut line = |text: &str| {
            body.push_str(text);
            body.push('\n');
        };
        line(&text(WIDTH / 2.0, 22.0, "middle", "title", &self.title));
        line(&text(8.0, TOP - 12.0, "start", "label", &self.y));
        line(&text(
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 12.0,
            "middle",
            "label",
            &self.x,
        ));
        for &tick in &y_ticks {
            let y = at_y(tick);
            line(&rule((LEFT, y), (WIDTH - RIGHT, y)));
            line(&text(LEFT - 8.0, y + 4.0, "end", "tick", &number(tick)));
        }
        for &tick in &x_ticks {
            let x = at_x(tick);
            line(&rule((x, TOP), (x, HEIGHT - BOTTOM)));
            line(&text(
                x,
                HEIGHT - BOTTOM + 18.0,
                "middle",
                "tick",
                &number(tick),
            ));
        }
        for ((index, series), colour) in (0_u32..).zip(&self.series).zip(COLOURS.iter().cycle()) {
            let coordinates: Vec<String> = series
                .points
                .iter()
                .map(|&(x, y)| format!("{:.1},{:.1}", at_x(x), at_y(y)))
                .collect();
            line(&format!(
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
                coordinates.join(" ")
            ));
            for point in &coordinates {
                let (x, y) = point.split_once(',').unwrap_or_default();
                line(&format!(
                    r#"<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>"#
                ));
            }
            let y = TOP + 14.0 + 18.0 * f64::from(index);
            line(&format!(
                r#"<circle cx="{:.1}" cy="{:.1}" r="4" fill="{colour}"/>"#,
                LEFT + 14.0,
                y - 4.0
            ));
            line(&text(LEFT + 24.0, y, "start", "legend", &series.name));
        }
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">
<style>text{{font:12px sans-serif;fill:#333}}.title{{font-size:15px;font-weight:600}}.tick{{fill:#666}}</style>
<rect width="100%" height="100%" fill="#fff"/>
{body}</svg>
"##,
            title = escape(&self.title)
        )
    }
}

/// Round numbers from 0 to the first one that is not below `most`.
fn ticks(most: f64) -> Vec<f64> {
    if most <= 0.0 {
        return vec![0.0, 1.0];
    }
    let power = 10_f64.powf((most / 5.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| step * 5.0 >= most * 0.999_999)
        .unwrap_or(most);
    let mut ticks = vec![0.0];
    let mut tick = 0.0;
    while tick < most * 0.999_999 {
        tick += step;
        ticks.push(tick);
    }
    ticks
}

fn number(value: f64) -> String {
    // Two decimals hold every step that a tick can have here.
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn text(x: f64, y: f64, anchor: &str, class: &str, content: &str) -> String {
    format!(
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{}</text>"#,
        escape(content)
    )
}

fn rule(from: (f64, f64), to: (f64, f64)) -> String {
    format!(
        r##"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="#ddd"/>"##,
        from.0, from.1, to.0, to.1
    )
}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '"' => escaped.push_str("&quot;"),
            // Nothing fails to write to a string.
            c => drop(write!(escaped, "{c}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_far_enough() {
        for (most, step, last) in [
            (1000.0, 200.0, 1000.0),
            (1024.0, 250.0, 1250.0),
            (3.3, 1.0, 4.0),
            (0.7, 0.2, 0.8),
            (1.0, 0.2, 1.0),
        ] {
            let ticks = ticks(most);
            let end = ticks.last().copied().unwrap_or_default();
            assert!((ticks[1] - step).abs() < 1e-9, "{most}: {ticks:?}");
            assert!((end - last).abs() < 1e-9, "{most}: {ticks:?}");
        }
        assert_eq!(ticks(0.0), [0.0, 1.0]);
    }

    #[test]
    fn numbers_have_no_needless_zeros() {
        assert_eq!(
            [0.0, 250.0, 0.2, 2.5, 0.25].map(number),
            ["0", "250", "0.2", "2.5", "0.25"]
        );
    }

    #[test]
    fn a_plot_has_its_points_and_escapes_its_texts() {
        let plot = Plot {
            title: "a < b".to_owned(),
            x: "x".to_owned(),
            y: "y".to_owned(),
            series: vec![Series {
                name: "one & two".to_owned(),
                points: vec![(0.0, 0.0), (10.0, 5.0)],
            }],
        };
        let svg = plot.svg();
        assert!(svg.contains(r#"points="70.0,368.0 700.0,64.0""#), "{svg}");
        assert!(
            svg.contains("one &amp; two") && svg.contains("a &lt; b"),
            "{svg}"
        );
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
