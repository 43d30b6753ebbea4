//! What the runs of a file were given, as their command lines in the metadata have it.

use std::collections::BTreeSet;

use scanbox_model::device::DeviceProfile;
use scanbox_model::filter::Filter;
use scanbox_model::metadata::Metadata;
use scanbox_model::parameters::Value;
use scanbox_model::space::Point;

/// The filter that all runs of these files were given, where nothing was split into shards.
pub fn only_filter<'a>(told: impl Iterator<Item = &'a Metadata> + Clone) -> Option<String> {
    let inputs = told.clone().filter_map(|told| told.merged.as_ref()).flat_map(|merged| &merged.inputs);
    if told.clone().any(|told| told.shard.is_some()) || inputs.into_iter().any(|input| input.shard.is_some())
    {
        return None;
    }
    let runs = told.flat_map(|told| &told.runs);
    let given: BTreeSet<Option<String>> = runs.map(|run| value_of(&run.arguments, "--filter")).collect();
    match &given.into_iter().collect::<Vec<_>>()[..] {
        [Some(filter)] => Some(filter.clone()),
        _ => None,
    }
}

/// The points of a space that a filter accepts.
pub fn filtered(points: &[Point], filter: Option<Filter>, device: &DeviceProfile) -> Vec<Point> {
    let filter = filter.map(|filter| filter.with(|parameter| device.found(parameter, Value::Auto)));
    let accepts = |point: &&Point| filter.as_ref().is_none_or(|filter| filter.accepts(&point.config));
    points.iter().filter(accepts).copied().collect()
}

/// The value of an option on a command line: the first one.
pub fn value_of(arguments: &[String], name: &str) -> Option<String> {
    values_of(arguments, name).into_iter().next()
}

/// The values of an option that a command line may have several times.
pub fn values_of(arguments: &[String], name: &str) -> Vec<String> {
    let named = arguments.iter().enumerate().filter(|(_, argument)| argument.split('=').next() == Some(name));
    let value = |(at, argument): (usize, &String)| match argument.split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => arguments.get(at + 1).cloned(),
    };
    named.filter_map(value).collect()
}
