//! The passes of the families that go level by level: reduce-then-scan and scan-then-propagate.
//!
//! Passes go up through the levels ([`scanbox_pack::Levels`]), over the last one, and down again; what is scanned of a
//! level above the first stands in its place, inclusively. Each pass depends on the one before, so no workgroup waits
//! for another one: Vulkan promises nothing that these families need.

use scanbox_model::config::{BlockScan, Config, Family, Kernel, LoadLayout, SubgroupScan};
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_pack::{LevelPasses, Place, RecipePass, RecipeWord, ScratchPart};

use super::constants::{direction_defines, initial_words, transform_defines};
use super::resolve::Resolved;
use super::shader::shader;
use super::variant_pass::of_variant;
use crate::plan::Shader;
use crate::variant::Variant;

/// The passes of a legal config.
pub(super) fn passes(of: &Resolved<'_>, variant: Variant) -> LevelPasses<Shader> {
    let [up, down] = match of.config.kernel.family {
        Family::ScanThenPropagate => [Level::scan_tiles, Level::propagate],
        _ => [Level::reduce_tiles, Level::downsweep_tiles],
    };
    let levels = [false, true].map(|of_totals| Level { of, variant, of_totals });
    LevelPasses {
        up: levels.map(up),
        last: levels.map(Level::last),
        down: (of.problem.mode() != Mode::Reduce).then(|| levels.map(down)),
    }
}

/// A level that a pass goes over: the input, or totals.
#[derive(Clone, Copy)]
struct Level<'a> {
    of: &'a Resolved<'a>,
    variant: Variant,
    of_totals: bool,
}

const LEVEL_ABOVE: Place<ScratchPart> = Place::Scratch(ScratchPart::LevelAbove);

impl Level<'_> {
    /// What a pass reads of the level before anything is written there.
    fn source(self) -> Place<ScratchPart> {
        match (self.of_totals, self.of.problem.placement()) {
            (true, _) => Place::Scratch(ScratchPart::Level),
            (false, Placement::OutOfPlace) => Place::Source,
            (false, Placement::InPlace) => Place::Target,
        }
    }

    /// Where the scan of the level is written.
    fn target(self) -> Place<ScratchPart> {
        if self.of_totals { Place::Scratch(ScratchPart::Level) } else { Place::Target }
    }

    /// What is computed of the level: the totals of a scan of any mode are scanned inclusively, in their place.
    fn problem(self) -> Problem {
        if self.of_totals { self.of.problem.of_totals() } else { self.of.problem }
    }

    /// The config of a pass whose elements need nothing of each other but a total: subgroup operations on rows, so
    /// that nothing has to be exchanged through shared memory. Operators that do not commute are combined row by row
    /// there.
    fn by_rows(self) -> Config {
        let kernel = Kernel {
            block_scan: BlockScan::Subgroup,
            subgroup_scan: SubgroupScan::Operation,
            load_layout: LoadLayout::Striped,
            ..self.of.config.kernel
        };
        Config { kernel, ..self.of.config }
    }

    /// A pass that computes `problem`, and begins with the initial value of `begins`.
    fn pass(
        self,
        root: &'static str,
        config: &Config,
        problem: &Problem,
        places: &[Place<ScratchPart>],
        begins: Option<&Problem>,
    ) -> RecipePass<Shader> {
        let Resolved { n, device, .. } = *self.of;
        let mut module = Shader { root, ..shader(&Resolved::new(config, problem, n, device)) };
        let of = &self.of.problem;
        module.defines.extend(direction_defines(of, !self.of_totals));
        // Each is done once: by the first pass that reads the input, and by the last one that writes the output.
        let reads = !self.of_totals && root != "propagate.comp";
        let stores = match of.mode() {
            Mode::Reduce => root == "one_workgroup.comp",
            _ => !self.of_totals && !matches!(root, "reduce_tiles.comp" | "scan_tiles.comp"),
        };
        module.defines.extend(transform_defines(of, reads, stores));
        let pass = RecipePass { module, places: places.to_vec(), words: vec![RecipeWord::Elements] };
        of_variant(pass, self.variant, begins)
    }

    /// Adds up the tiles of the level: the one above.
    fn reduce_tiles(self) -> RecipePass<Shader> {
        // One shader for all levels and modes, in place or not.
        let problem = self.of.problem.of_totals();
        let places = [self.source(), self.source(), LEVEL_ABOVE];
        self.pass("reduce_tiles.comp", &self.by_rows(), &problem, &places, None)
    }

    /// Scans the tiles of the level, each on its own; their totals are the one above.
    fn scan_tiles(self) -> RecipePass<Shader> {
        let problem = self.problem().without_init();
        let places = [self.source(), self.target(), LEVEL_ABOVE];
        let mut pass = self.pass("scan_tiles.comp", &self.of.config, &problem, &places, None);
        // The identity of a user's operator is in its file.
        if let Some(words) = problem.init_words() {
            pass.words.extend(initial_words(&problem, words).map(RecipeWord::Same));
        }
        pass
    }

    /// Scans, or adds up, the level by one workgroup.
    fn last(self) -> RecipePass<Shader> {
        let (problem, target) = match self.of.problem.mode() {
            // The total of the totals, which is nobody's prefix.
            Mode::Reduce => (self.of.problem, Place::Target),
            _ => (self.problem(), self.target()),
        };
        let begins = Some(&problem).filter(|_| !self.of_totals || problem.mode() == Mode::Reduce);
        let places = [self.source(), target];
        self.pass("one_workgroup.comp", &self.of.config, &problem, &places, begins)
    }

    /// Scans the tiles of the level behind what comes before them.
    fn downsweep_tiles(self) -> RecipePass<Shader> {
        let problem = self.problem();
        let places = [self.source(), self.target(), LEVEL_ABOVE];
        let begins = Some(&problem).filter(|_| !self.of_totals);
        self.pass("downsweep_tiles.comp", &self.of.config, &problem, &places, begins)
    }

    /// Combines what comes before the tiles of the level with their scans, in place.
    fn propagate(self) -> RecipePass<Shader> {
        let problem = self.problem().of_output();
        let places = [self.target(), self.target(), LEVEL_ABOVE];
        let begins = Some(&problem).filter(|_| !self.of_totals);
        self.pass("propagate.comp", &self.by_rows(), &problem, &places, begins)
    }
}
