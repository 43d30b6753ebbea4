//! Which kernels to try for which numbers of elements.

use std::collections::BTreeSet;

use scanbox_pack::{NotChosen, Pack, PackRecipe, Reason, SeenDevice, Wish};

/// What to try, from a number of elements up to the next range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeChoice {
    /// The fewest elements.
    pub from: u64,
    /// The most.
    pub to: u64,
    /// Recipes by their places in the pack, and on what ground each was chosen, the best one first; those of tables
    /// that would have been asked next come last. All of them take these numbers of elements, and the device lacks
    /// nothing for them.
    pub ranked: Vec<(u16, Reason)>,
    /// By how much the best one is slower than the fastest that was measured, at the worst size, in parts per million.
    pub worst_loss_ppm: Option<u32>,
}

impl RangeChoice {
    /// Whether there is no reason to tell it from the one behind it.
    fn continues_with(&self, next: &Self) -> bool {
        let known = [self, next].map(|range| range.worst_loss_ppm.is_some());
        self.ranked == next.ranked && known[0] == known[1]
    }
}

/// What to try for 1 to `max_n` elements, in ascending order; one range where only the device knows how many there are.
///
/// # Errors
/// Why there is nothing for one of these numbers.
pub(crate) fn ranges(
    pack: &Pack,
    wish: &Wish<'_>,
    device: &SeenDevice<'_>,
    max_n: u64,
) -> Result<Vec<RangeChoice>, NotChosen> {
    let max_n = max_n.max(1);
    if wish.call_use.n_on_device {
        let choice = choice(pack, wish, device, max_n)?;
        return Ok(vec![RangeChoice { from: 1, to: max_n, ..choice }]);
    }
    // Between these, nothing changes.
    let starts: Vec<u64> = starts(pack, wish).into_iter().filter(|from| (1..=max_n).contains(from)).collect();
    let ends = starts.iter().skip(1).map(|next| next - 1).chain([max_n]);
    let choices = starts.iter().zip(ends).map(|(from, to)| {
        let choice = choice(pack, wish, device, *from);
        choice.map(|choice| RangeChoice { from: *from, to, ..choice }).map_err(|why| (*from, to, why))
    });
    let mut found: Vec<Result<RangeChoice, (u64, u64, NotChosen)>> = choices.collect();
    // Sizes that a table leaves out have what is next to them: first that of more elements, then that of fewer.
    for place in (0..found.len().saturating_sub(1)).rev() {
        borrow(pack, &mut found, place, place + 1);
    }
    for place in 1..found.len() {
        borrow(pack, &mut found, place, place - 1);
    }
    let found = found.into_iter().map(|choice| choice.map_err(|(_, _, why)| why));
    let mut ranges: Vec<RangeChoice> = Vec::new();
    for range in found.collect::<Result<Vec<_>, _>>()? {
        match ranges.last_mut() {
            Some(last) if last.continues_with(&range) => {
                last.to = range.to;
                last.worst_loss_ppm = last.worst_loss_ppm.max(range.worst_loss_ppm);
            }
            _ => ranges.push(range),
        }
    }
    Ok(ranges)
}

/// Gives the range at `place`, if it has nothing, what the one at `from` has and fits it.
fn borrow(pack: &Pack, found: &mut [Result<RangeChoice, (u64, u64, NotChosen)>], place: usize, from: usize) {
    let (Err((first, last, NotChosen::OtherSize { .. })), Ok(near)) = (&found[place], &found[from]) else {
        return;
    };
    let takes = |(at, _): &(u16, Reason)| {
        let recipe = &pack.data().recipes[usize::from(*at)].recipe;
        recipe.takes(*first) && recipe.takes(*last)
    };
    let ranked: Vec<(u16, Reason)> = near.ranked.iter().copied().filter(takes).collect();
    if !ranked.is_empty() {
        // What it loses there is not known.
        found[place] = Ok(RangeChoice { from: *first, to: *last, ranked, worst_loss_ppm: None });
    }
}

/// Where something may begin anew: tables, and what recipes take.
fn starts(pack: &Pack, wish: &Wish<'_>) -> BTreeSet<u64> {
    let data = pack.data();
    let mut starts = BTreeSet::from([1]);
    let problems = data.problems.iter().filter(|problem| problem.scan == *wish.scan);
    let tables = problems.flat_map(|problem| problem.measured.iter().chain(&problem.portable));
    for breakpoint in
        tables.filter(|table| table.call_use == wish.call_use).flat_map(|table| &table.breakpoints)
    {
        starts.insert(breakpoint.from);
        for PackRecipe { recipe, .. } in
            breakpoint.ranked.iter().filter_map(|at| data.recipes.get(usize::from(*at)))
        {
            starts.extend([recipe.min_n, recipe.max_n + 1]);
        }
    }
    starts
}

/// What to try for `n` elements.
fn choice(pack: &Pack, wish: &Wish<'_>, device: &SeenDevice<'_>, n: u64) -> Result<RangeChoice, NotChosen> {
    let data = pack.data();
    let chosen = pack.choose(wish, device, n)?;
    let can = |at: &&u16| {
        let recipe = &data.recipes[usize::from(**at)].recipe;
        let mut modules = recipe.modules().map(|module| &data.modules[usize::from(*module)]);
        recipe.takes(n) && modules.all(|module| device.lacks(module).is_none())
    };
    let mut ranked: Vec<(u16, Reason)> = Vec::new();
    for choice in pack.choices(wish, device, n).flatten() {
        for place in [choice.recipe].iter().chain(choice.others.iter().filter(can)) {
            if !ranked.iter().any(|(other, _)| other == place) {
                ranked.push((*place, choice.reason));
            }
        }
    }
    Ok(RangeChoice { from: n, to: n, ranked, worst_loss_ppm: chosen.breakpoint.worst_loss_ppm })
}
