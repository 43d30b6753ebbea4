//! `scanbox space --compile`: every pipeline of a space, made by a device's driver and run by nobody.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use scanbox_kernels::catalog;
use scanbox_kernels::plan::Shader;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::space::Space;
use scanbox_report::compiled::{CompiledPipeline, CompiledSpace};
use scanbox_report::document::Format;
use scanbox_runner::vulkan::MadePipeline;
use scanbox_session::device::compiler::DeviceCompiler;
use scanbox_session::progress::ProgressLine;
use scanbox_session::tools::Tools;

use super::SpaceArgs;
use crate::answer::{answered, print};
use crate::exit::{Exit, UsageError};
use crate::output::{OutputContent, Outputs};

/// Makes the pipelines, and writes what the driver says of them.
pub fn run(args: &SpaceArgs, file: &Path, format: Format, tools: &Tools) -> anyhow::Result<Exit> {
    let (problem, operator) = args.selection.problem.problem()?;
    let space = args.selection.load(&problem)?;
    let content = OutputContent::Table(CompiledSpace::csv_header());
    let output = Outputs::beside(args.selection.inputs()).claim("--compile", file, content)?;
    let mut maker = DeviceCompiler::open(&args.device, tools)?;
    let device = maker.profile().clone();
    let mut compiler = tools.compiler()?;
    if let Some(operator) = operator {
        compiler = compiler.with_operator(operator);
    }
    tools.warn_of_cache();

    let shaders = shaders(args, &space, &problem, &device, tools)?;
    let line = Mutex::new(ProgressLine::new("compile", shaders.len() as u64));
    let total = shaders.len();
    let list: Vec<Shader> = shaders.keys().cloned().collect();
    let made = maker.make(&compiler, &list, &|done| {
        if let Ok(mut line) = line.lock() {
            line.step(done as u64, total as u64, || "pipelines".to_owned());
        }
    });
    if let Ok(line) = line.lock() {
        line.end();
    }
    let rows = shaders.iter().zip(made).map(|((shader, config), made)| row(config, problem, shader, made));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|one, other| (&one.config, one.shader).cmp(&(&other.config, other.shader)));
    let compiled = CompiledSpace::new(&space.name, &device, maker.tells(), rows);
    output.write(|out| compiled.write_csv(out))?;
    let exit = if compiled.refused() == 0 { Exit::Done } else { Exit::Operational };
    answered(print(&compiled, format), exit)
}

/// The different shaders of a space, each with the first config that has it.
fn shaders(
    args: &SpaceArgs,
    space: &Space,
    problem: &Problem,
    device: &DeviceProfile,
    tools: &Tools,
) -> anyhow::Result<BTreeMap<Shader, Config>> {
    let mut shaders = BTreeMap::new();
    for size in sizes(args, device)? {
        let device = device.with_subgroups_of(size);
        let whole = args.selection.enumerate(space, problem, &device)?;
        for point in args.selection.shard.part(whole, problem)?.enumeration.points {
            let config = Config { workgroups: None, workgroups_per_unit: None, ..point.config };
            let plan = catalog::plan(&point.config, problem, point.n, &device);
            let plan = plan.map_err(|rejection| anyhow::anyhow!("{}: {}", point.config, rejection.detail))?;
            for pass in plan.passes {
                shaders.entry(pass.shader).or_insert(config);
            }
        }
    }
    if shaders.is_empty() {
        return Err(args.selection.why_none(space, problem, device, tools.flags_on(&args.device))?.into());
    }
    Ok(shaders)
}

/// The subgroup sizes that were asked for, all of which the device has.
fn sizes(args: &SpaceArgs, device: &DeviceProfile) -> anyhow::Result<Vec<u32>> {
    let offered = device.offered_subgroup_sizes();
    if args.subgroup_sizes.is_empty() {
        return Ok(vec![device.subgroup_size]);
    }
    match args.subgroup_sizes.iter().find(|size| !offered.contains(size)) {
        None => Ok(args.subgroup_sizes.clone()),
        Some(size) => {
            let those = offered.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("{} has no subgroups of {size}; it has {those}", device.title());
            Err(UsageError(message).into())
        }
    }
}

fn row(config: &Config, problem: Problem, shader: &Shader, made: MadePipeline) -> CompiledPipeline {
    let (status, reason, told) = match made.outcome {
        Ok(told) => (Status::Ok, String::new(), told),
        Err(failure) => (failure.status, failure.reason, Default::default()),
    };
    CompiledPipeline {
        config: config.to_string(),
        problem,
        shader: shader.root,
        workgroup_size: shader.workgroup_size,
        subgroup_size: shader.subgroup_size,
        status,
        reason,
        made_in_ms: made.made_in.as_secs_f64() * 1000.0,
        told,
    }
}
