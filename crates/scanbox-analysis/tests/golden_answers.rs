//! The answers about stored files against `scripts/golden/analysis.py`, which shares no code with them: A1 to A9, A12
//! to A18, A20, A22 and A24, by every metric and normalisation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use scanbox_analysis::answers::{Answers, Question, answer};
use scanbox_analysis::best_kernel::Ranking;
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::grouping::{Builder, RecordFile, Runs};
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::portfolio::Portfolio;
use scanbox_analysis::shared::SharedMetric;
use scanbox_analysis::table::{KernelIndex, Tables};
use scanbox_analysis::weights::Weights;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::record::Clock;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The rows of these files, with the measured copies beside them.
fn tables(files: &[&str]) -> Tables {
    let mut builder = Builder::new(Clock::Steady);
    for file in files {
        let path = if file.starts_with("results/") { root().join(file) } else { golden().join(file) };
        let records = csv_file::read(&path).unwrap().records;
        let metadata = Metadata::read(&Metadata::path_beside(&path)).ok();
        let ceiling_gbps = metadata.as_ref().map(|metadata| &metadata.ceiling_gbps);
        builder
            .add(&RecordFile {
                name: file,
                records: &records,
                planned: None,
                problem: Problem::default(),
                kind: None,
                ceiling_gbps,
            })
            .unwrap();
    }
    builder.finish(Runs::Latest).0
}

/// Whether two numbers agree as far as another order of operations lets them; an ideal line has gaps of 0.
fn assert_close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap_or_else(|| panic!("{what}: found {found}, expected {expected}"));
    let limit = 1e-9 * found.abs().max(expected.abs()) + 1e-12;
    assert!((found - expected).abs() <= limit, "{what}: found {found}, expected {expected}");
}

struct Case<'a> {
    name: &'a str,
    tables: Tables,
    expected: Value,
}

impl Case<'_> {
    fn labels(&self, kernels: &[KernelIndex]) -> Vec<String> {
        kernels.iter().map(|&kernel| self.tables.catalog.kernel(kernel).to_string()).collect()
    }

    fn answers(&self, question: Question) -> Answers<'_> {
        answer(&self.tables, &question).0
    }

    fn check_ranking(&self, found: Option<&Ranking>, expected: &Value, what: &str) {
        let what = format!("{}: {what}", self.name);
        let Some(found) = found else {
            assert!(expected.is_null(), "{what}: nothing, expected {expected}");
            return;
        };
        let scores: Vec<_> = std::iter::once(&found.winner).chain(&found.others).collect();
        let expected = expected.as_array().unwrap_or_else(|| panic!("{what}: nothing is expected"));
        assert_eq!(scores.len(), expected.len(), "{what}");
        for (score, expected) in scores.iter().zip(expected) {
            assert_eq!(self.labels(&[score.kernel])[0], expected[0].as_str().unwrap(), "{what}");
            assert_close(score.score, &expected[1], &what);
        }
    }

    fn check_eligibility(&self, found: &Eligibility, expected: &Value, what: &str) {
        let what = format!("{}: {what}", self.name);
        assert_eq!(serde_json::json!([found.sizes, self.labels(&found.kernels)]), *expected, "{what}");
    }

    fn check_portfolio(&self, found: Option<&Portfolio>, expected: &Value, what: &str) {
        let what = format!("{}: portfolio {what}", self.name);
        let found = found.map(|portfolio| portfolio.sets.as_slice()).unwrap_or_default();
        let expected = expected.as_array().map(Vec::as_slice).unwrap_or_default();
        assert!(found.len() >= expected.len(), "{what}: {} sets", found.len());
        for (set, expected) in found.iter().zip(expected) {
            assert_close(set.score, &expected["score"], &what);
            assert_eq!(set.uncovered as u64, expected["uncovered"].as_u64().unwrap(), "{what}");
            assert_close(set.mean_loss_pct, &expected["mean_loss_pct"], &what);
            assert_close(set.worst.0, &expected["worst_loss_pct"], &what);
            assert!(set.exact, "{what}");
        }
    }

    /// A1, A20 and A22: what no option changes.
    fn check_ideal(&self) {
        let answers = self.answers(Question::default());
        let expected = self.expected["devices"].as_array().unwrap();
        assert_eq!(answers.devices.len(), expected.len());
        for (device, expected) in answers.devices.iter().zip(expected) {
            let what = format!("{}: {}", self.name, device.table.device.name);
            let points = expected["ideal"].as_array().unwrap();
            assert_eq!(device.ideal.points.len(), points.len(), "{what}");
            for (point, expected) in device.ideal.points.iter().zip(points) {
                let label = |config| self.tables.catalog.config(config).to_string();
                assert_eq!(point.n, expected["n"].as_u64().unwrap(), "{what}");
                assert_eq!(label(point.best.config), expected["config"].as_str().unwrap(), "{what}");
                assert_close(point.best.gbps, &expected["gbps"], &what);
                let runner_up = point.runner_up.map(|cell| label(cell.config));
                assert_eq!(runner_up.as_deref(), expected["runner_up"].as_str(), "{what} at {}", point.n);
                if let Some(margin) = point.margin_pct {
                    assert_close(margin, &expected["margin_pct"], &what);
                }
                assert_eq!(point.ties as u64, expected["ties"].as_u64().unwrap(), "{what}");
            }
            let uses: BTreeMap<String, usize> = device
                .ideal
                .uses
                .iter()
                .map(|(&kernel, &uses)| (self.labels(&[kernel])[0].clone(), uses))
                .collect();
            assert_eq!(serde_json::json!(uses), expected["uses"], "{what}");
            let utilization = device.utilization.as_ref();
            assert_eq!(utilization.is_none(), expected["bandwidth"].is_null(), "{what}");
            for point in utilization.iter().flat_map(|utilization| &utilization.points) {
                assert_close(point.pct, &expected["bandwidth"][point.n.to_string()], &what);
            }
            let baselines = device.baseline.as_ref().map_or(0, |baseline| baseline.points.len());
            assert_eq!(baselines, expected["baseline"].as_object().unwrap().len(), "{what}");
            for point in device.baseline.iter().flat_map(|baseline| &baseline.points) {
                assert_close(point.ratio, &expected["baseline"][point.n.to_string()], &what);
            }
        }
    }

    /// A3 by every coverage.
    fn check_coverage(&self) {
        for coverage in ["auto", "common", "all", "widest", "0.5"] {
            let question = Question { coverage: coverage.parse().unwrap(), ..Question::default() };
            let answers = self.answers(question);
            for (at, device) in answers.devices.iter().enumerate() {
                let expected = &self.expected["devices"][at]["coverage"][coverage];
                self.check_eligibility(&device.eligibility, expected, coverage);
            }
            for across in &answers.across {
                let expected = &self.expected["across"]["coverage"][coverage];
                self.check_eligibility(&across.portable.eligibility, expected, coverage);
            }
        }
    }

    /// A4 to A9 and A18 by every normalisation, A12 to A17, and A24.
    fn check_choices(&self) {
        for normalization in Normalization::ALL {
            for metric in Metric::THESIS {
                let question = Question {
                    metric,
                    normalization: Some(normalization),
                    portfolio: (metric == Metric::Squared).then_some(3),
                    // Shared configs do not depend on the metric of kernels.
                    all_metrics: metric == Metric::Squared,
                    ..Question::default()
                };
                let answers = self.answers(question);
                let (word, name) = (normalization.word(), metric.to_string());
                let what = format!("{name} {word}");
                for (at, device) in answers.devices.iter().enumerate() {
                    let expected = &self.expected["devices"][at];
                    let ranking = device.choice.as_ref().map(|choice| &choice.ranking);
                    self.check_ranking(ranking, &expected["metrics"][&name][word], &what);
                    if (metric, normalization) == (Metric::Squared, Normalization::None) {
                        self.check_portfolio(device.portfolio.as_ref(), &expected["portfolios"], &what);
                    }
                }
                for across in &answers.across {
                    let expected = &self.expected["across"];
                    let ranking = across.portable.choice.as_ref().map(|choice| &choice.ranking);
                    self.check_ranking(ranking, &expected["portable"][&name][word], &what);
                    if (metric, normalization) == (Metric::Squared, Normalization::SizeBest) {
                        self.check_portfolio(across.portfolio.as_ref(), &expected["portfolios"], &what);
                    }
                    let sets: Vec<_> =
                        std::iter::once(&across.shared).chain(&across.shared_by_metric).collect();
                    assert!(metric != Metric::Squared || sets.len() == SharedMetric::ALL.len());
                    for set in sets {
                        let what = format!("{}: shared {} {word}", self.name, set.metric);
                        let expected = &expected["shared"][set.metric.to_string()][word];
                        let expected = expected.as_array().map(Vec::as_slice).unwrap_or_default();
                        assert_eq!(set.points.len(), expected.len(), "{what}");
                        for (point, expected) in set.points.iter().zip(expected) {
                            let what = format!("{what} at {}", point.n);
                            let label = self.tables.catalog.config(point.config).to_string();
                            assert_eq!(label, expected["config"].as_str().unwrap(), "{what}");
                            assert_close(point.score, &expected["score"], &what);
                            assert_eq!(point.candidates as u64, expected["of"].as_u64().unwrap(), "{what}");
                        }
                    }
                }
            }
        }
    }

    /// Metrics with the weights of elements.
    fn check_weights(&self) {
        let question = Question { weights: Weights::Large, ..Question::default() };
        for (at, device) in self.answers(question).devices.iter().enumerate() {
            for answer in &device.by_metric {
                let name = answer.ranking.metric.to_string();
                let expected = &self.expected["devices"][at]["weighted"][&name];
                self.check_ranking(Some(&answer.ranking), expected, &name);
            }
        }
    }
}

fn check(name: &str, files: &[&str]) {
    let text = std::fs::read(golden().join(name).with_extension("json")).unwrap();
    let case = Case { name, tables: tables(files), expected: serde_json::from_slice(&text).unwrap() };
    case.check_ideal();
    case.check_coverage();
    case.check_choices();
    case.check_weights();
}

#[test]
fn answers_are_those_of_another_implementation() {
    let (thesis, quick) =
        ("results/published.nvidia-h200.thesis.csv", "results/published.llvmpipe.quick.csv");
    check("thesis", &[thesis]);
    check("llvmpipe", &[quick]);
    check("both", &[thesis, quick]);
    check("every", &["every-1.csv", "every-2.csv"]);
    check("most", &["most-1.csv", "most-2.csv", "most-3.csv"]);
    check("ranges", &["ranges-1.csv", "ranges-2.csv", "ranges-3.csv"]);
    check("mixed", &["every-1.csv", "most-2.csv", "ranges-3.csv", "every-3.csv"]);
}

#[test]
fn the_stored_answers_are_what_the_script_makes() {
    let script = root().join("scripts/golden/analysis.py");
    let output = match Command::new("python3").arg(script).arg("--check").arg(golden()).output() {
        Ok(output) => output,
        Err(_) => {
            // Not silently: the harness shows this with --nocapture, CI has Python.
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "skipped: there is no python3");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
