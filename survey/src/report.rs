//! The report: what the survey says about the whole cluster, the answer first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::cluster::Node;
use crate::incident::{End, Fate, registry_of};
use crate::plan::doubt;
use crate::preset::Preset;
use crate::read::COMMAND;
use crate::survey::{Effect, Outcome, Row, Survey};

/// What the survey says about a cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Which preset to take, and why.
    pub answer: Answer,
    /// The incident, in words.
    pub incident_words: String,
    /// How many objects of each kind were read.
    pub kinds: BTreeMap<String, usize>,
    /// What was assumed, because it isn't in the input.
    pub assumed: Vec<String>,
    /// How many workloads there are, and of how many a row was worked out.
    pub workloads: usize,
    /// See `workloads`.
    pub done: usize,
    /// Whether every container pulls with `Always`, as the plugin `AlwaysPullImages` makes them.
    pub is_always: bool,
    /// A line for each preset.
    pub presets: Vec<Line>,
    /// The registries of all images. Those of the most Pods come first.
    pub registries: Vec<RegistryLine>,
    /// The normalised names of all images. Those of the most Pods come first.
    pub images: Vec<String>,
    /// The names of all namespaces.
    pub namespaces: BTreeSet<String>,
}

/// The answer, in two sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// At most two presets.
    pub files: Vec<String>,
    /// Which of them to take and why, or that none is needed.
    pub sentence: String,
    /// What they don't save. Empty if that is nothing.
    pub unsaved: String,
}

/// A preset, and the numbers of workloads to which it does something.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// Its name.
    pub name: String,
    /// For whom it is.
    pub purpose: String,
    /// What it needs.
    pub needs: String,
    /// Whether it only audits: it reports, and selects nothing at admission.
    pub is_audit: bool,
    /// Why this cluster can't have it, or why the survey can't tell. Empty if neither.
    pub problem: String,
    /// How many workloads it selects.
    pub selected: usize,
    /// How many it repairs.
    pub changed: usize,
    /// How many it warns of.
    pub warned: usize,
    /// How many it rejects, in health.
    pub rejected: usize,
    /// How many an audit would reject.
    pub reported: usize,
    /// Of how many the plugin `AlwaysPullImages` would undo a repair.
    pub undone: usize,
    /// How the selected workloads end up in the incident without it.
    pub before: Ends,
    /// How they end up with it.
    pub after: Ends,
}

/// How many workloads end up how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ends {
    /// An app container starts while another waits for its image.
    pub half: usize,
    /// No app container starts.
    pub waits: usize,
    /// It is rejected.
    pub rejected: usize,
    /// A container may run an older image than its registry has.
    pub old: usize,
}

/// A registry.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryLine {
    /// Its host.
    pub name: String,
    /// How many Pods have an image of it.
    pub pods: usize,
    /// Why a policy server should perhaps not connect to it: whoever creates a Pod names it.
    pub doubt: Option<&'static str>,
}

impl Ends {
    fn of(ends: impl Iterator<Item = End>) -> Self {
        let ends: Vec<End> = ends.collect();
        let number = |fate| ends.iter().filter(|end| end.fate == fate).count();
        Self {
            half: number(Fate::Half),
            waits: number(Fate::Waits),
            rejected: number(Fate::Rejected),
            old: ends.iter().filter(|end| end.is_old).count(),
        }
    }
}

impl Survey {
    /// The report on the rows that were worked out.
    pub fn report(&self) -> Report {
        let rows = self.rows();
        let count = |names: fn(&Row) -> BTreeSet<&str>| {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for row in rows {
                for name in names(row) {
                    let count = counts.entry(name).or_default();
                    *count = count.saturating_add(row.number);
                }
            }
            let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
            counts.sort_by_key(|(_, count)| Reverse(*count));
            counts
        };
        let registries = count(|row| row.images.iter().map(|image| registry_of(image)).collect());
        let images = count(|row| row.images.iter().map(|image| &**image).collect());
        let is_always = !rows.is_empty() && rows.iter().all(|row| row.is_always);
        let mut report = Report {
            answer: Answer::default(),
            incident_words: self.question.incident.words(),
            kinds: self.cluster.kinds.clone(),
            assumed: self.assumed(is_always),
            workloads: self.workloads(),
            done: rows.len(),
            is_always,
            presets: (0..self.presets.len())
                .filter_map(|index| self.line(index))
                .collect(),
            registries: registries
                .into_iter()
                .map(|(name, pods)| RegistryLine {
                    name: name.to_owned(),
                    pods,
                    doubt: doubt(name),
                })
                .collect(),
            images: images
                .into_iter()
                .map(|(name, _)| name.to_owned())
                .collect(),
            namespaces: rows.iter().map(|row| row.namespace.clone()).collect(),
        };
        report.answer = self.answer(&report);
        report
    }

    fn assumed(&self, is_always: bool) -> Vec<String> {
        let mut assumed = Vec::new();
        if self.cluster.namespaces.is_empty() {
            assumed.push(
                "no Namespace is in the input, so none has the label consistent-pull-policy/ignore"
                    .to_owned(),
            );
        }
        if self.cluster.nodes.is_empty() {
            assumed.push(
                "no Node is in the input, so the Nodes may have any version of Kubernetes"
                    .to_owned(),
            );
        }
        if !self.rows().iter().any(|row| row.kind.ends_with("Job")) {
            assumed.push(
                "no Job and no CronJob is in the input, so nothing is said about them".to_owned(),
            );
        }
        if assumed.len() > 2 {
            assumed.push(format!("the whole input: {COMMAND}"));
        }
        assumed.push(
            "beside/without-kubewarden.yaml isn't evaluated: it is for clusters without Kubewarden"
                .to_owned(),
        );
        if is_always {
            assumed.push(
                "every container pulls with Always: if the API server runs AlwaysPullImages, it undoes \
                 each IfNotPresent, so a preset that writes one is not proposed"
                    .to_owned(),
            );
        }
        assumed
    }

    fn effects(&self, index: usize) -> impl Iterator<Item = (&Row, &Effect)> {
        let of_row = move |row| -> Option<(&Row, &Effect)> {
            let row: &Row = row;
            Some((row, row.results.get(index)?.as_ref()?))
        };
        self.rows().iter().filter_map(of_row)
    }

    fn line(&self, index: usize) -> Option<Line> {
        let preset = self.presets.get(index)?;
        let is_audit = preset.policy.is_audit;
        let effects: Vec<(&Row, &Effect)> = self.effects(index).collect();
        let number =
            |is: &dyn Fn(&Effect) -> bool| effects.iter().filter(|(_, effect)| is(effect)).count();
        let with = |outcome| number(&|effect| effect.outcome == outcome);
        Some(Line {
            name: preset.name.clone(),
            purpose: preset.purpose.clone(),
            needs: preset.needs.clone(),
            is_audit,
            problem: self.problem(preset),
            selected: number(&|_| !is_audit),
            changed: with(Outcome::Changed),
            warned: with(Outcome::Warned),
            rejected: with(Outcome::Rejected),
            reported: with(Outcome::Reported),
            undone: number(&|effect| effect.is_undone),
            before: Ends::of(effects.iter().map(|(row, _)| row.before)),
            after: Ends::of(effects.iter().map(|(_, effect)| effect.after)),
        })
    }

    fn problem(&self, preset: &Preset) -> String {
        let needed = preset.kubernetes();
        let problem = |node: &Node| {
            let minor = node.minor.filter(|minor| *minor < needed);
            let runtime = node.old_runtime.as_ref();
            let runtime = runtime.filter(|_| preset.has_image_volumes());
            let (needed, there) = match (minor, runtime) {
                (Some(minor), _) => (format!("Kubernetes 1.{needed}"), format!("1.{minor}")),
                (_, Some(runtime)) => ("containerd 2.1 or CRI-O 1.31".to_owned(), runtime.clone()),
                (None, None) => return None,
            };
            let name = &node.name;
            Some(format!(
                "it needs {needed} on every Node, and {name} has {there}"
            ))
        };
        let mut problems = self.cluster.nodes.iter().filter_map(problem);
        problems.next().unwrap_or_default()
    }

    /// The answer: first the preset that saves the most workloads, then one that saves others.
    fn answer(&self, report: &Report) -> Answer {
        let incident = &report.incident_words;
        let all = self.rows().len();
        let before = Ends::of(self.rows().iter().map(|row| row.before));
        let harmed = match (before.half, before.waits) {
            (0, 0) => {
                return Answer {
                    sentence: format!(
                        "No preset is needed: if {incident}, all {all} workloads start."
                    ),
                    ..Answer::default()
                };
            }
            (0, waits) => format!("{waits} of {all} workloads would wait"),
            (half, _) => format!("{half} of {all} workloads could do half of their work"),
        };
        let mut chosen = Vec::new();
        while chosen.len() < 2 {
            let Some(best) = self.best(report, &chosen, false) else {
                break;
            };
            chosen.push(best);
        }
        let ends = self.rows().iter().map(|row| {
            let effects = chosen
                .iter()
                .filter_map(|index| row.results.get(*index)?.as_ref());
            let ends = effects.map(|effect| effect.after);
            (row, ends.min_by_key(|end| end.fate).unwrap_or(row.before))
        });
        let left = Ends::of(ends.clone().map(|(_, end)| end));
        let half = ends.filter(|(_, end)| end.fate == Fate::Half).take(3);
        let half = half.map(|(row, _)| format!("{} {}/{}", row.kind, row.namespace, row.name));
        let line = |index: &usize| report.presets.get(*index);
        let files: Vec<String> = chosen
            .iter()
            .filter_map(|index| Some(line(index)?.name.clone()))
            .collect();
        let sentence = if !files.is_empty() {
            format!("If {incident}, {harmed}: take {}.", files.join(" and "))
        } else if before.half > 0 {
            format!("If {incident}, {harmed}. No preset that this cluster can have prevents it.")
        } else {
            format!(
                "No preset is needed: if {incident}, {harmed}, and no preset that this cluster can have \
                 would let them start."
            )
        };
        let mut unsaved = Vec::new();
        if left.half > 0 {
            unsaved.push(format!(
                "{} could still do half of their work ({})",
                left.half,
                half.collect::<Vec<_>>().join(", ")
            ));
        }
        if left.waits > 0 {
            let why = if before.half > 0 {
                ", whole, until the image is there"
            } else {
                ""
            };
            unsaved.push(format!("{} would wait{why}", left.waits));
        }
        if left.rejected > 0 {
            unsaved.push(format!("{} would be rejected meanwhile", left.rejected));
        }
        if left.old > before.old {
            unsaved.push(format!("{} may run an older image", left.old));
        }
        let mut parts = Vec::new();
        if !files.is_empty() && !unsaved.is_empty() {
            parts.push(format!("With that, {}.", unsaved.join("; ")));
        }
        // The first choice, if only the Nodes are in its way.
        let first = self.best(report, &[], true);
        let refused = first.as_ref().and_then(line);
        if let Some(Line { name, problem, .. }) = refused.filter(|line| !line.problem.is_empty()) {
            parts.push(format!("{name} isn't proposed: {problem}."));
        }
        Answer {
            files,
            sentence,
            unsaved: parts.join(" "),
        }
    }

    /// The number of the best preset beside those that are chosen already. `None` if none can be
    /// proposed.
    fn best(&self, report: &Report, chosen: &[usize], with_problems: bool) -> Option<usize> {
        let lines = report.presets.iter().enumerate();
        let lines = lines.filter(|(index, line)| {
            let is_refused = |other: &usize| {
                let refused = report.presets.get(*other);
                let refused = refused.and_then(|other| self.pairs.get(&other.name));
                other == index || refused.is_some_and(|refused| refused.contains_key(&line.name))
            };
            (with_problems || line.problem.is_empty())
                && !line.is_audit
                && !(report.is_always && line.undone > 0)
                && !chosen.iter().any(is_refused)
        });
        let scores = lines.map(|(index, line)| (self.score(index, line, chosen), Reverse(index)));
        let best = scores.filter(|((saved, _), _)| *saved > 0).max();
        best.map(|(_, Reverse(index))| index)
    }

    /// How good a preset is beside those that are chosen already: how many workloads it saves, without
    /// those that it harms. Of equal ones, first the one that runs fewer old images, then the one
    /// that changes fewer workloads, and then one without lookups.
    fn score(
        &self,
        index: usize,
        line: &Line,
        chosen: &[usize],
    ) -> (isize, Reverse<(usize, usize, bool)>) {
        let (mut saved, mut old) = (0_isize, 0_usize);
        for (row, effect) in self.effects(index) {
            let by_others = chosen
                .iter()
                .filter_map(|other| Some(row.results.get(*other)?.as_ref()?.after.fate));
            let before = by_others.fold(row.before.fate, Fate::min);
            let after = effect.after.fate;
            let is_saved = (before == Fate::Half && after < Fate::Half)
                || (before == Fate::Waits && after == Fate::Starts);
            let is_harmed =
                effect.outcome == Outcome::Rejected || (after > before && before == Fate::Starts);
            saved = saved.saturating_add(match (is_harmed, is_saved) {
                (true, _) => -1,
                (false, is_saved) => is_saved.into(),
            });
            old = old.saturating_add(usize::from(effect.after.is_old && !row.before.is_old));
        }
        let preset = self.presets.get(index);
        let asks = preset.is_some_and(Preset::asks_registries);
        (saved, Reverse((old, line.changed, asks)))
    }
}
