//! `scanbox bench --call-forms`: calls of a config that are not the ordinary one, beside it.

use clap::Args;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_model::call_form::CallForm;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::Selection;
use scanbox_runner::bench::Selected;
use scanbox_runner::subject::Subject;

use crate::exit::UsageError;

/// What `scanbox bench` is asked about forms of calls.
#[derive(Debug, Args)]
pub struct CallFormArgs {
    /// Also time these calls of each config that has them: max-4 (n is in memory, and the call is laid out for 4 times
    /// as many), any-element (arrays may begin anywhere), total (it is stored beside the scan), unchanged-line and
    /// updated-line (arguments in memory that stay, or that a copy writes before each call)
    #[arg(
        long,
        value_name = "FORM,FORM,...",
        value_delimiter = ',',
        conflicts_with_all = ["blocking", "dispatch", "show", "prove", "plots"]
    )]
    call_forms: Vec<CallForm>,
}

impl CallFormArgs {
    /// Whether any form was asked for.
    pub fn is_asked_for(&self) -> bool {
        !self.call_forms.is_empty()
    }

    /// Adds the forms that configs have at a size.
    pub fn join(&self, selected: &mut Vec<Selected>, n: u64, problem: &Problem, device: &DeviceProfile) {
        let mut more = Vec::new();
        for Selected { subject, .. } in &*selected {
            let Subject::Config { config, .. } = subject else { continue };
            for &form in self.call_forms.iter().filter(|form| !form.is_of_library()) {
                let variant = Variant::of_form(form, n);
                let subject = Subject::Config { config: *config, variant };
                let is_new = more.iter().all(|one: &Selected| one.subject != subject);
                if is_new && has_calls(config, variant, problem, n, device).is_ok() {
                    // Whatever its config was chosen for, the form was named.
                    more.push(Selected { subject, selection: vec![Selection::Named] });
                }
            }
        }
        selected.append(&mut more);
    }

    /// # Errors
    /// A form that no config has at any size, with the rule that says so.
    pub fn check(
        &self,
        sizes: &[(u64, Vec<Selected>)],
        problem: &Problem,
        device: &DeviceProfile,
    ) -> Result<(), UsageError> {
        let all = || sizes.iter().flat_map(|(n, selected)| selected.iter().map(|one| (*n, &one.subject)));
        for &form in &self.call_forms {
            if form.is_of_library() {
                return Err(UsageError(format!("--call-forms {form}: --pack times what the library runs")));
            }
            if all().any(|(n, subject)| subject.variant().form(n) == Some(form)) {
                continue;
            }
            let mut rejections = all().filter_map(|(n, subject)| {
                let Subject::Config { config, .. } = subject else { return None };
                has_calls(config, Variant::of_form(form, n), problem, n, device).err()
            });
            let why = rejections.next().unwrap_or_else(|| "this benchmark has no such config".to_owned());
            return Err(UsageError(format!("--call-forms {form}: no config has such calls: {why}")));
        }
        Ok(())
    }
}

/// Whether a config has such calls, or why not.
fn has_calls(
    config: &Config,
    variant: Variant,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
) -> Result<(), String> {
    if variant.of_problem(problem) == Variant::default().of_problem(problem) {
        return Err(format!("the ordinary call of {problem} is one"));
    }
    let plan = catalog::plan_variant(config, variant, problem, n, device);
    match plan.map_err(|one| format!("{} ({})", one.detail, one.rule))? {
        plan if plan.is_baked() => {
            Err(format!("{config} is baked: what such calls leave is verified on arrays that it cannot have"))
        }
        _ => Ok(()),
    }
}
