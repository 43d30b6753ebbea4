//! `scanbox bench --pack`: what a program gets of a pack, through the library, beside the same configs as scanbox
//! records them itself.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::packing::wrong_module_hash;
use scanbox_model::api::Api;
use scanbox_model::call_form::CallForm;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::Selection;
use scanbox_model::units::size_label;
use scanbox_pack::{ArgumentKind, CallTrait, CallUse, Pack, Promises};
use scanbox_runner::bench::Selected;
use scanbox_runner::subject::Subject;
use scanbox_session::notes::note;
use scanbox_session::pack::{self, UseSet, chosen};
use scanbox_session::protocol::LentPack;

use crate::args::shipping::{promises, use_word};
use crate::exit::UsageError;

/// What `scanbox bench` is asked about the library.
#[derive(Debug, Args)]
pub struct LibraryArgs {
    /// Time the kernels that the library takes from this pack, and beside them the same configs recorded by scanbox
    /// itself
    #[arg(long, value_name = "PACK", conflicts_with_all = ["blocking", "dispatch", "show"])]
    pack: Option<PathBuf>,

    /// How the library is called: pushed, line (which stays, and written before every call), baked; with n-on-device
    /// among them, each of them also with the number of elements in memory, as pushed,n-on-device
    #[arg(
        long,
        value_name = "WORDS",
        value_delimiter = ',',
        value_parser = use_word,
        default_value = "pushed,line"
    )]
    uses: Vec<CallTrait>,

    /// What the program promises of the device: none, or any of progress, workgroup-order, subgroup-progress,
    /// co-residency, joined by +
    #[arg(long, value_name = "SET", value_parser = promises, default_value = "none")]
    promises: Promises,
}

/// A pack that takes part.
pub struct PackTakingPart<'a> {
    args: &'a LibraryArgs,
    path: PathBuf,
    pack: Pack,
}

impl LibraryArgs {
    /// Whether the library takes part.
    pub fn is_asked_for(&self) -> bool {
        self.pack.is_some()
    }

    /// The file of the pack.
    pub fn input(&self) -> Option<&std::path::Path> {
        self.pack.as_deref()
    }

    /// The pack, where one takes part.
    ///
    /// # Errors
    /// When it cannot be read, or a use has something that is not timed.
    pub fn read(&self) -> anyhow::Result<Option<PackTakingPart<'_>>> {
        let Some(path) = &self.pack else { return Ok(None) };
        let timed = [CallTrait::Pushed, CallTrait::Line, CallTrait::Baked, CallTrait::NOnDevice];
        if let Some(other) = self.uses.iter().find(|one| !timed.contains(one)) {
            let message = format!("--uses {other}: only pushed, line, baked and n-on-device are timed");
            return Err(UsageError(message).into());
        }
        let place = || format!("--pack {}", path.display());
        let pack = Pack::read(&pack::bytes_of(path).with_context(place)?).with_context(place)?;
        if let Some(module) = wrong_module_hash(&pack) {
            anyhow::bail!("{}: the code of module {module} is not what its hash says", place());
        }
        let path = std::fs::canonicalize(path).with_context(place)?;
        Ok(Some(PackTakingPart { args: self, path, pack }))
    }
}

impl PackTakingPart<'_> {
    /// As the worker is told of it.
    pub fn lent(&self) -> LentPack {
        LentPack { path: self.path.clone(), promises: self.args.promises }
    }

    /// What the metadata of the run says of it.
    pub fn settings(&self) -> serde_json::Value {
        let data = self.pack.data();
        serde_json::json!({
            "pack": self.path.display().to_string(),
            "written_by": data.written_by,
            "kernel_hash": data.kernel_hash,
            "device": data.device.name,
            "promises": self.args.promises.words().collect::<Vec<_>>(),
        })
    }

    /// Adds what the library runs at a size, behind the same configs as scanbox records them.
    ///
    /// # Errors
    /// Where the pack has nothing for a use, or the device cannot run what it has.
    pub fn join(
        &self,
        selected: &mut Vec<Selected>,
        n: u64,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> Result<(), UsageError> {
        if device.api != Api::Vulkan {
            let message = "--pack is of Vulkan: the library records its kernels, and none is in WGSL";
            return Err(UsageError(message.to_owned()));
        }
        let promised = self.args.promises;
        for call_use in UseSet::new(&self.args.uses).uses(problem) {
            let said = |why: String| {
                let file = self.path.display();
                UsageError(format!("--pack {file}, {call_use} at {}: {why}", size_label(n)))
            };
            let (config, _) = chosen(&self.pack, problem, call_use, promised, n, device).map_err(said)?;
            for variant in forms(call_use).into_iter().map(|form| variant(form, n)) {
                catalog::plan_variant(&config, variant, problem, n, device)
                    .map_err(|one| said(format!("{} ({})", one.detail, one.rule)))?;
                let subject = Subject::Config { config, variant };
                if selected.iter().all(|one| one.subject != subject) {
                    selected.push(Selected { subject, selection: vec![Selection::Named] });
                }
            }
        }
        Ok(())
    }

    /// Says on what ground kernels were chosen, and where their code is another one. `kernel_hash`: of the sources
    /// here.
    pub fn introduce(
        &self,
        sizes: impl Iterator<Item = u64>,
        problem: &Problem,
        device: &DeviceProfile,
        kernel_hash: &str,
    ) {
        let packed = &self.pack.data().kernel_hash;
        if packed != kernel_hash {
            note(&format!(
                "warning: the pack was compiled of other sources ({packed}, here {kernel_hash}): where times differ, \
                 it may be their code"
            ));
        }
        let uses = UseSet::new(&self.args.uses).uses(problem);
        let reasons: BTreeSet<String> = sizes
            .flat_map(|n| uses.iter().map(move |call_use| (n, *call_use)))
            .filter_map(|(n, call_use)| {
                chosen(&self.pack, problem, call_use, self.args.promises, n, device).ok()
            })
            .map(|(_, reason)| reason.to_string())
            .collect();
        let reasons: Vec<String> = reasons.into_iter().collect();
        note(&format!("the library chooses by: {}", reasons.join("; ")));
    }
}

/// What is timed of a use: none is the ordinary call.
fn forms(call_use: CallUse) -> Vec<Option<CallForm>> {
    if call_use.n_on_device {
        return vec![None, Some(CallForm::LibraryLength)];
    }
    let mut forms = vec![None, Some(CallForm::Library)];
    if call_use.arguments == ArgumentKind::Line {
        forms.extend([CallForm::UnchangedLine, CallForm::UpdatedLine, CallForm::LibraryUpdated].map(Some));
    }
    forms
}

fn variant(form: Option<CallForm>, n: u64) -> Variant {
    form.map_or_else(Variant::default, |form| Variant::of_form(form, n))
}
