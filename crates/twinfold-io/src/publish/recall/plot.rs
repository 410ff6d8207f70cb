//! The plot: measured recall as points, with bars where there are intervals, and the curves of theory.
//!
//! A point stands at the mean similarity of its bin's true pairs, where a curve can be held against it.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{RecallReport, SettingEntry};

const CHART_WIDTH: u32 = 660;
const LEGEND_WIDTH: u32 = 300;
const LEAST_HEIGHT: u32 = 480;
const LEGEND_LINE: u32 = 24;
/// Characters of a legend entry that there is room for.
const LEGEND_CHARACTERS: usize = 26;

/// Colours that the colour-blind tell apart (M. Okabe, K. Ito, 2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The plot as an SVG document.
pub(super) fn draw(report: &RecallReport) -> io::Result<String> {
    let mut svg = String::new();
    let lines = report.settings.len() as u32 + 4;
    let height = LEAST_HEIGHT.max(lines * LEGEND_LINE + 40);
    let area =
        SVGBackend::with_string(&mut svg, (CHART_WIDTH + LEGEND_WIDTH, height)).into_drawing_area();
    area.fill(&WHITE).map_err(other)?;
    let (left, right) = area.split_horizontally(CHART_WIDTH);
    chart(report, &left)?;
    legend(report, &right)?;
    area.present().map_err(other)?;
    drop((left, right, area));
    if !svg.ends_with('\n') {
        svg.push('\n');
    }
    Ok(svg)
}

fn other(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

fn chart(report: &RecallReport, area: &Area<'_>) -> io::Result<()> {
    let bins = report.truth.measured.as_ref().map(|truth| &truth.bins);
    let least = bins
        .and_then(|bins| bins.first())
        .map_or(0.0, |bin| bin.from);
    // A threshold of 1 leaves a point, and no range.
    let least = least.min(0.95);
    let mut chart = ChartBuilder::on(area)
        .margin(18)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(least..1.0 + (1.0 - least) * 0.02, 0.0..1.03)
        .map_err(other)?;
    chart
        .configure_mesh()
        .x_desc("Jaccard similarity of the pair")
        .y_desc("recall: share of the true pairs that was found")
        .x_label_formatter(&|similarity| {
            let label = format!("{similarity:.3}");
            label.trim_end_matches('0').trim_end_matches('.').to_owned()
        })
        .y_label_formatter(&|recall| format!("{:.0}%", recall * 100.0))
        .y_labels(11)
        .max_light_lines(1)
        .bold_line_style(RGBColor(225, 225, 225))
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", 13))
        .draw()
        .map_err(other)?;
    for (number, setting) in report.settings.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let curve = setting
            .curve
            .iter()
            .map(|point| (point.similarity, point.probability));
        chart
            .draw_series(LineSeries::new(curve, colour.stroke_width(2)))
            .map_err(other)?;
        for bin in setting.measured.iter().flat_map(|measured| &measured.bins) {
            let (Some(x), Some(recall)) = (bin.mean_similarity, bin.share.recall) else {
                continue;
            };
            if let Some(interval) = bin.share.interval {
                let bar = ErrorBar::new_vertical(
                    x,
                    interval.low,
                    recall,
                    interval.high,
                    colour.stroke_width(1),
                    8,
                );
                chart.draw_series([bar]).map_err(other)?;
            }
            // The chart's area begins at the origin of the drawing.
            mark(area, number, chart.backend_coord(&(x, recall)))?;
        }
    }
    Ok(())
}

/// Shapes tell settings apart where colours don't.
fn mark(area: &Area<'_>, number: usize, at: (i32, i32)) -> io::Result<()> {
    let colour = COLOURS[number % COLOURS.len()];
    match number % 3 {
        0 => area.draw(&Circle::new(at, 4, colour.filled())),
        1 => area.draw(&TriangleMarker::new(at, 6, colour.filled())),
        _ => area.draw(&Cross::new(at, 5, colour.stroke_width(2))),
    }
    .map_err(other)
}

fn legend(report: &RecallReport, area: &Area<'_>) -> io::Result<()> {
    let style = ("sans-serif", 14)
        .into_text_style(area)
        .pos(Pos::new(HPos::Left, VPos::Center));
    let small = ("sans-serif", 12)
        .into_text_style(area)
        .pos(Pos::new(HPos::Left, VPos::Center));
    let place = |line: usize| 40 + line as i32 * LEGEND_LINE as i32;
    for (number, setting) in report.settings.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let y = place(number);
        if !setting.curve.is_empty() {
            let line = PathElement::new(vec![(0, y), (28, y)], colour.stroke_width(2));
            area.draw(&line).map_err(other)?;
        }
        mark(area, number, (14, y))?;
        let text = Text::new(entry(setting), (38, y), style.clone());
        area.draw(&text).map_err(other)?;
    }
    let mut remarks = vec!["marks: measured, at the mean similarity of a bin"];
    if report.settings.iter().any(|s| !s.curve.is_empty()) {
        remarks.push("curves: theory");
    }
    if report.sample.is_some() {
        remarks.push("bars: 95% intervals, of the sample");
    }
    for (number, remark) in remarks.into_iter().enumerate() {
        let y = place(report.settings.len()) + 8 + number as i32 * 18;
        area.draw(&Text::new(remark, (0, y), small.clone()))
            .map_err(other)?;
    }
    Ok(())
}

fn entry(setting: &SettingEntry) -> String {
    // The name of a column may hold anything, and XML does not take everything.
    let name: String = setting
        .setting
        .chars()
        .map(|c| {
            if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    let name = if name.chars().count() > LEGEND_CHARACTERS {
        let start: String = name.chars().take(LEGEND_CHARACTERS - 1).collect();
        start + "\u{2026}"
    } else {
        name
    };
    let recall = setting.measured.as_ref().map(|m| m.overall.recall);
    match recall {
        None => format!("{name}: over the budget"),
        Some(None) => format!("{name}: no pairs"),
        Some(Some(recall)) => format!("{name}: {:.1}%", (recall * 1000.0).floor() / 10.0),
    }
}
