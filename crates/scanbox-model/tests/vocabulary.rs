//! Labels, sizes, filters and spaces: parse and print are inverse, and bad text gets an answer.

use proptest::prelude::*;
use scanbox_model::config::{Arguments, Config, Kernel};
use scanbox_model::device::DeviceProfile;
use scanbox_model::filter::Filter;
use scanbox_model::parameters::{
    KERNEL_PARAMETERS, PARAMETER_NAMES, PARAMETERS, PROPERTIES, Value, Values, document,
};
use scanbox_model::probe::ArgumentsProbe;
use scanbox_model::sizes::Sizes;
use scanbox_model::space::Space;
use scanbox_model::units::slug;
use scanbox_testing::device::example;

fn any_kernel() -> impl Strategy<Value = Kernel> {
    prop::collection::vec(any::<u32>(), KERNEL_PARAMETERS.len()).prop_map(|numbers| {
        let config: Config = "b1.scalar.none.rake.wg1".parse().unwrap();
        let values =
            KERNEL_PARAMETERS.iter().zip(numbers).map(|(parameter, number)| match parameter.values {
                Values::Words(words) => {
                    let place = number as usize % words.len();
                    (parameter, Value::Word { place, word: words[place].word })
                }
                Values::Numbers(least, most) => {
                    (parameter, Value::Number(least + number % (most - least + 1)))
                }
            });
        values.fold(config, |config, (parameter, value)| parameter.with(config, value)).kernel
    })
}

prop_compose! {
    fn any_config()(
        kernel in any_kernel(),
        workgroup_size in 1u32..=4096,
        // A launch shape fixes the size, or says how many workgroups each unit gets, or neither.
        (workgroups, workgroups_per_unit) in prop_oneof![
            Just((None, None)),
            (1u32..=1 << 30).prop_map(|count| (Some(count), None)),
            (1u32..=64).prop_map(|count| (None, Some(count))),
        ],
    ) -> Config {
        Config { kernel, workgroup_size, workgroups, workgroups_per_unit }
    }
}

proptest! {
    #[test]
    fn a_printed_label_reads_as_the_same_config(config in any_config()) {
        prop_assert_eq!(config.to_string().parse::<Config>().unwrap(), config);
        prop_assert_eq!(config.kernel.to_string().parse::<Kernel>().unwrap(), config.kernel);
    }

    #[test]
    fn a_label_that_reads_prints_as_it_was(text in "[a-z0-9.]{0,40}") {
        if let Ok(config) = text.parse::<Config>() {
            prop_assert_eq!(config.to_string(), text);
        }
    }

    #[test]
    fn printed_sizes_read_as_the_same_set(numbers in prop::collection::btree_set(1u64..=1 << 40, 1..20), exponents in prop::collection::vec(0u32..=40, 0..20)) {
        let all = numbers.into_iter().chain(exponents.into_iter().map(|e| 1 << e));
        let text = all.map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let sizes: Sizes = text.parse().unwrap();
        prop_assert_eq!(sizes.to_string().parse::<Sizes>().unwrap(), sizes);
    }

    #[test]
    fn no_text_breaks_a_parser(text in "\\PC{0,60}") {
        let _ = text.parse::<Config>();
        let _ = text.parse::<Sizes>();
        let _ = text.parse::<Filter>();
        let _ = Space::from_toml(&text, "text");
    }
}

#[test]
fn labels() {
    fn check(label: &str, wrong: Option<&str>) {
        match (label.parse::<Config>(), wrong) {
            (Ok(config), None) => assert_eq!(config.to_string(), label),
            (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
            (other, _) => panic!("{label}: {other:?}"),
        }
    }
    check("b4.vec4.par.rake.wg256.g1024", None);
    check("b16.scalar.seq.blelloch.direct.packed.fill.wg64", None);
    check("b1.vec2.par.rake.word64.epoch.wg32", None);
    check("b4.vec4.fallback.sub.early.spins0.pause.split.wg256", None);
    check("b4.vec4.fallback.sub.early.spins65536.wg256", None);
    check("b4.vec4.fallback.sub.spins4.wg256", Some("found `spins4`"));
    check("b4.vec4.fallback.sub.spins00.wg256", Some("found `spins00`"));
    check("b4.vec4.fallback.sub.spins65537.wg256", Some("found `spins65537`"));
    check("", Some("batch size"));
    check("b4.vec4.rake.par.wg256", Some("lookback"));
    check(
        "b4.vec4.rake.par.wg256",
        Some("found `rake`; block_scan stands elsewhere: the order of parts is fixed ("),
    );
    check("b4.vec4.par.sub.shufle.wg256", Some("found `shufle`; did you mean `shuffle`? ("));
    check("b4.vec4.par.sub.xyz.wg256", Some("found `xyz` ("));
    check("b4.vec4.par.rake", Some("workgroup size"));
    check("b4.vec4.par.rake.wg256.g1024.extra", Some("expected the end, found `extra`"));
    check("b04.vec4.par.rake.wg256", Some("batch size"));
    check("b4.vec4.par.rake.fill.packed.wg256", Some("workgroup size"));
    check("b99999999999.vec4.par.rake.wg256", Some("batch size"));
    // What no device can do would overflow the size of a tile.
    check("b65.vec4.par.rake.wg256", Some("batch size (b1 to b64), found `b65`"));
    check("b4294967295.vec4.par.rake.wg256", Some("batch size"));
    check("b4.vec4.par.rake.wg4097", Some("workgroup size"));
    check("b4.vec4.par.rake.wg256.g1073741825", Some("expected the end, found `g1073741825`"));
    // Every part at once, in its order.
    check(
        "pers.b3.vec4.two.sub.shuffle.striped.robin.early.flags.width8.backoff.stride16.word64.clean.wg96.u4",
        None,
    );
    check("one.b7.vec4.none.sub.wg1024", None);
    check("redo.b1.scalar.none.sub.direct.wg32", None);
    check("rts.b4.vec4.none.ks.wg64", None);
    check("stp.b4.vec4.none.rs.g4.wg64", Some("workgroup size"));
    check("b4.vec4.chain.bk.split.wg64", None);
    check("b4.vec4.chain.rs.wg64", None);
    check("b4.vec4.chain.sk.wg64", None);
    check("b4.vec4.par.sub.wgid.width2.pause.wg64", None);
    // Defaults are not written out.
    check("chained-scan.b4.vec4.par.rake.wg256", Some("batch size"));
    for tag in
        ["operation", "transposed", "ticket", "after-scan", "barrier", "width1", "none", "stride1", "auto"]
    {
        check(&format!("b4.vec4.par.rake.{tag}.wg256"), Some(&format!("found `{tag}`")));
    }
    check("b4.vec4.par.rake.width9.wg256", Some("found `width9`"));
    check("b4.vec4.par.rake.width02.wg256", Some("found `width02`"));
    check("b4.vec4.par.rake.stride17.wg256", Some("found `stride17`"));
    check("b4.vec4.par.sub.early.striped.wg256", Some("found `striped`"));
    check("b4.vec4.par.rake.wg256.g4.u4", Some("expected the end, found `u4`"));
    check("b4.vec4.par.rake.wg256.u0", Some("expected the end, found `u0`"));
    check("b4.vec4.par.rake.wg256.u65", Some("expected the end, found `u65`"));
    check("b4.vec4.par.rake.u4", Some("workgroup size"));
}

#[test]
fn sizes() {
    fn check(text: &str, expected: Result<&[u64], &str>) {
        match (text.parse::<Sizes>(), expected) {
            (Ok(sizes), Ok(expected)) => assert_eq!(sizes.iter().collect::<Vec<_>>(), expected, "{text}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (other, _) => panic!("{text}: {other:?}"),
        }
    }
    check("2^10", Ok(&[1024]));
    check("2^3..2^5", Ok(&[8, 16, 32]));
    check("3..20,7", Ok(&[4, 7, 8, 16]));
    check("1", Ok(&[1]));
    // 1024 times the square root of two is 1448.15; what rounds to the same size is there once.
    check("2^10..2^11/2,2000", Ok(&[1024, 1448, 2000, 2048]));
    // 2^20.75 is 1763487.98.
    check("1500000..2000000/4", Ok(&[1_763_488]));
    check("2^39..2^40/1", Ok(&[1 << 39, 1 << 40]));
    check("1..4/64", Ok(&[1, 2, 3, 4]));
    check("1025..1026/2", Err("no step from 1025 to 1026"));
    check("2^10..2^11/0", Err("from 1 to 64"));
    check("2^10..2^11/65", Err("from 1 to 64"));
    check("2^10..2^11/", Err("`` is not a number of steps"));
    check("2^10/2..2^11", Err("a power of two is written as 2^20"));
    check("3_000_000", Ok(&[3_000_000]));
    check("0", Err("at least one element"));
    check("3,000,000", Err("no commas within a number"));
    check("2^41", Err("above 2^40"));
    check("9999999999999999", Err("above 2^40"));
    check("", Err("not a number"));
    check("2^5..2^3", Err("no power of two"));
    check("5..7", Err("no power of two"));
    check("ten", Err("`ten` is not a number"));
    check("3M", Err("write all its digits, as 3000000"));
    check("2^10-2^12", Err("a range as 2^10..2^20"));
    check("2^ten", Err("a power of two is written as 2^20"));
    check("_", Err("is not a number"));
    check("random:2:5..9:1,8", Ok(&[7, 8, 9]));
    check("random:0:5..9:1", Err("at least one size"));
    check("random:3:5..9:1", Err("not 3 sizes from 5 to 9"));
    check("random:3:5..9", Err("random:COUNT:FROM..TO:SEED"));
    check("random:x:5..9:1", Err("random:COUNT:FROM..TO:SEED"));
    check("random:3:900..5:1", Err("not 3 sizes"));
    check("random:99999999999999999999:5..9:1", Err("random:COUNT:FROM..TO:SEED"));
}

#[test]
fn random_sizes_are_of_every_octave() {
    let sizes: Sizes = "random:400:2^10..2^29:7".parse().unwrap();
    let all: Vec<u64> = sizes.iter().collect();
    assert_eq!(all.len(), 400);
    assert!(all.iter().all(|n| (1 << 10..=1 << 29).contains(n)));
    for octave in 10..29 {
        let count = all.iter().filter(|n| n.ilog2() == octave).count();
        assert!((8..40).contains(&count), "{count} of octave {octave}");
    }
    assert_eq!(sizes, "random:400:2^10..2^29:7".parse().unwrap());
    assert_ne!(sizes, "random:400:2^10..2^29:8".parse().unwrap());
    assert_eq!(sizes, sizes.to_string().parse().unwrap());
}

#[test]
fn filters() {
    fn check(filter: &str, label: &str, expected: bool) {
        let config: Config = label.parse().unwrap();
        assert_eq!(filter.parse::<Filter>().unwrap().accepts(&config), expected, "{filter} on {label}");
    }
    let label = "b4.vec4.par.rake.wg256.g1024";
    check("lookback=parallel", label, true);
    check("lookback=sequential", label, false);
    check("lookback=sequential|parallel,workgroup_size=256", label, true);
    check("workgroup_size=25", label, false);
    check("config=b4.vec4", label, true);
    check("config=b4.vec2|b8", label, false);
    check(
        "workgroups=1024,tile_state=auto,reset=auto,load_layout=transposed,family=chained-scan",
        label,
        true,
    );
    check(
        "tile_order=ticket,publish=after-scan,rendezvous=barrier,lookback_width=1,back_off=none,state_stride=1",
        label,
        true,
    );
    check("workgroups_per_unit=4", label, false);
    check("max_spins=4", label, false);
    check("max_spins=4|8", "b4.vec4.fallback.sub.wg256", true);
    check("max_spins=0,lookback=fallback", "b4.vec4.fallback.sub.spins0.wg256", true);
    let label = "pers.b3.vec4.two.sub.shuffle.striped.robin.early.flags.backoff.stride16.clean.wg96.u4";
    check("workgroups_per_unit=4,batch_size=3,family=persistent,lookback=two-level", label, true);
    check("tile_order=round-robin,publish=before-scan,rendezvous=flags,back_off=exponential", label, true);
    check("state_stride=1|8", label, false);
    check("reset=clean,load_layout=striped,subgroup_scan=shuffle,lookback_width=1", label, true);
    for (label, expected) in [
        ("b4.vec4.chain.rake.wg64", true),
        ("b4.vec4.gather.sub.striped.early.wg64", true),
        ("b4.vec4.two.sub.wg64", true),
        ("one.b4.vec4.none.rake.wg64", true),
        ("redo.b4.vec4.none.ks.wg64", true),
        ("rts.b4.vec4.none.sub.striped.wg64", true),
        ("stp.b4.vec4.none.bk.wg64", true),
        ("pers.b4.vec4.gather.sub.robin.early.wg64.u1", true),
        ("pers.b4.vec4.gather.sub.early.wg64.u1", false),
        ("pers.b4.vec4.gather.sub.wgid.early.wg64.u1", false),
        ("pers.b4.vec4.two.sub.early.wg64.u1", false),
        ("pers.b4.vec4.two.sub.robin.early.wg64.u1", true),
        ("b4.vec4.seq.rake.wg64", false),
        ("b4.vec4.par.rake.wg64", false),
        ("b4.vec4.par.rake.packed.wg64", true),
    ] {
        check("deterministic=yes", label, expected);
        check("deterministic=no", label, !expected);
        check("deterministic=yes|no", label, true);
    }
    for (bad, part) in [
        ("", "has no `=`"),
        ("colour=red", "there is no parameter `colour`"),
        ("reset=", "empty value"),
        ("deterministic=1", "it is one of yes, no"),
        ("lookback=foo", "`foo` is not a value of lookback; it is one of sequential, parallel"),
        ("lookback=parallel|secuential", "`secuential` is not a value of lookback"),
        ("arguments=pushed", "`pushed` is not a value of arguments; it is one of push, block, baked, auto"),
        ("workgroup_size=256|5000", "`5000` is not a value of workgroup_size; it is a number from 1 to 4096"),
        ("workgroup_size=0256", "it is a number from 1 to"),
        ("batch_size=-1", "it is a number from 1 to 64"),
        ("config=b4.vex4", "it is the beginning of a label"),
        ("config=b4.vec2|bb", "`bb` is not a value of config"),
        ("config=B4", "it is the beginning of a label"),
    ] {
        let error = bad.parse::<Filter>().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    // What is found out on a device is no value of a config.
    for (filter, asks) in [("arguments=auto", true), ("arguments=push|auto", true), ("reset=auto", false)] {
        let filter: Filter = filter.parse().unwrap();
        assert_eq!(filter.asks_device(), asks, "{filter:?}");
    }
    let auto: Filter = "arguments=auto".parse().unwrap();
    for (found, accepted) in [(None, [true, false, false]), (Some(Arguments::Block), [false, true, false])] {
        let device = probed(found);
        let labels = [label.to_owned(), label.replace(".wg", ".block.wg"), label.replace(".wg", ".baked.wg")];
        for (label, accepted) in labels.iter().zip(accepted) {
            let config: Config = label.parse().unwrap();
            assert_eq!(
                auto.with(|parameter| device.found(parameter, Value::Auto)).accepts(&config),
                accepted,
                "{label} where {found:?} was found"
            );
            assert!(!auto.accepts(&config), "{label}");
        }
    }
    for parameter in PARAMETERS.iter().filter(|parameter| parameter.found) {
        let found = probed(Some(Arguments::Block)).found(parameter, Value::Auto);
        assert_ne!(found, Value::Auto, "{} is never found out", parameter.name);
    }
    assert!("lookback=auto".parse::<Filter>().is_err());
    // Values are checked as names are, of every parameter and in every place.
    let names = || PARAMETER_NAMES.into_iter().chain(PROPERTIES.iter().map(|property| property.name));
    for name in names() {
        for wrong in ["perhaps", "1.5", "-1", "99999999999"] {
            for text in [format!("{name}={wrong}"), format!("reset=auto,{name}={wrong}")] {
                let error = text.parse::<Filter>().unwrap_err().to_string();
                assert!(error.contains(&format!("`{wrong}` is not a value of {name}")), "{error}");
            }
        }
    }
    // What a config has is a value, and every beginning of a label is one.
    for label in [label, "b64.vec4.fallback.sub.spins65536.wg4096.g1073741824"] {
        let config: Config = label.parse().unwrap();
        let properties = PROPERTIES.iter().map(|property| (property.name, (property.value)(&config)));
        let values = PARAMETERS.iter().map(|parameter| (parameter.name, parameter.value(&config)));
        for (name, value) in values.chain(properties).filter(|(_, value)| *value != Value::Open) {
            check(&format!("{name}={value}"), label, true);
        }
        for cut in 1..=label.len() {
            check(&format!("config={}", &label[..cut]), label, true);
        }
    }
}

const SPACE: &str = r#"
name = "small"
sizes = "2^10..2^12"
[[block]]
family = ["chained-scan"]
batch_size = [1]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["parallel"]
block_scan = ["raking"]
"#;

/// A device on which this was found.
fn probed(found: Option<Arguments>) -> DeviceProfile {
    let arguments_probe = found.map(|arguments| ArgumentsProbe { arguments, sizes: Vec::new() });
    DeviceProfile { arguments_probe, ..example("probed", 0, "") }
}

#[test]
fn auto_in_a_space_is_what_was_found_on_the_device() {
    let check = |list: &str, found: Option<Arguments>, expected: &[&str]| {
        let line = format!("batch_size = [1]\narguments = {list}");
        let space = Space::from_toml(&SPACE.replace("batch_size = [1]", &line), "my.toml").unwrap();
        assert_eq!(space.asks_device(), list.contains("auto"), "{list}");
        // What is written is what was asked for, not what it came to.
        let json = serde_json::to_string(&space).unwrap();
        assert_eq!(serde_json::from_str::<Space>(&json).unwrap(), space, "{json}");
        let points = space.enumerate(&probed(found), |_, _, _| Ok(())).points;
        let labels: Vec<String> =
            points.iter().filter(|point| point.n == 1024).map(|point| point.config.to_string()).collect();
        assert_eq!(labels, expected, "{list} where {found:?} was found");
    };
    let [push, block, baked] = ["", ".block", ".baked"].map(|tag| format!("b1.vec4.par.rake{tag}.wg64"));
    check("[\"auto\"]", None, &[&push]);
    check("[\"auto\"]", Some(Arguments::Push), &[&push]);
    check("[\"auto\"]", Some(Arguments::Block), &[&block]);
    // Whatever a file says: a baked pipeline is not for arguments that may change.
    check("[\"auto\"]", Some(Arguments::Baked), &[&push]);
    check("[\"auto\", \"baked\"]", Some(Arguments::Block), &[&block, &baked]);
    let mistyped = SPACE.replace("batch_size = [1]", "batch_size = [1]\narguments = [\"Auto\"]");
    let error = Space::from_toml(&mistyped, "my.toml").unwrap_err().to_string();
    assert!(error.contains("`Auto` is not a value of arguments") && error.contains("baked, auto"), "{error}");
    check("[\"push\", \"auto\"]", Some(Arguments::Block), &[&push, &block]);
    check("[\"push\", \"auto\"]", None, &[&push]);
    check("[\"block\"]", None, &[&block]);
}

#[test]
fn bad_spaces_say_where_and_why() {
    fn check(from: &str, to: &str, parts: &[&str]) {
        assert!(SPACE.contains(from), "{from}");
        let error = Space::from_toml(&SPACE.replace(from, to), "my.toml").unwrap_err().to_string();
        for part in parts.iter().chain(&["my.toml"]) {
            assert!(error.contains(part), "{error}");
        }
    }
    Space::from_toml(SPACE, "my.toml").unwrap();
    check("lookback", "lookbak", &["line 9", "unknown field `lookbak`"]);
    check("[\"parallel\"]", "[\"diagonal\"]", &["line 9", "diagonal", "sequential"]);
    check("[\"parallel\"]", "[\"auto\"]", &["`auto` is not a value of lookback", "sequential"]);
    check("[1]", "[\"auto\"]", &["`auto` is not a value of batch_size", "a number from 1 to 64"]);
    check("[1]", "[\"one\"]", &["line 6", "one"]);
    check("[1]", "[-1]", &["line 6", "-1"]);
    check("[1]", "[]", &["block 1", "`batch_size`", "the list is empty"]);
    check("[1]", "[0]", &["`batch_size`", "0 is not a number from 1 to 64, so no device can do it"]);
    check("[1]", "[3, 65]", &["`batch_size`", "65 is not a number"]);
    let for_elements = |list: &str| format!("[1]\nelement_bytes = {list}");
    check("[1]", &for_elements("[]"), &["`element_bytes`", "the list is empty"]);
    check("[1]", &for_elements("[4, 20]"), &["`element_bytes`", "4, 8, 12, 16 bytes, and none has 20"]);
    check("[64]", "[65536]", &["`workgroup_size`", "65536", "no device can do it"]);
    let also = |line: &str, parts: &[&str]| check("batch_size", &format!("{line}\nbatch_size"), parts);
    also("lookback_width = [1, 9]", &["`lookback_width`", "9 is not a number from 1 to 8"]);
    also("state_stride = [32]", &["`state_stride`", "32 is not a number from 1 to 16"]);
    also("state_stride = []", &["`state_stride`", "the list is empty"]);
    also("max_spins = [0, 65537]", &["`max_spins`", "65537 is not a number from 0 to 65536"]);
    also("max_spins = []", &["`max_spins`", "the list is empty"]);
    also("publish = []", &["`publish`", "the list is empty"]);
    also("tile_order = [\"robin\"]", &["robin", "round-robin"]);
    also("workgroups_per_unit = [65]", &["`workgroups_per_unit`", "65 is not a number from 1 to 64"]);
    also(
        "workgroups_per_unit = [4]\nworkgroups = [16]",
        &["`workgroups_per_unit`", "a block has one of them"],
    );
    also("sizes = \"2^99\"", &["above 2^40"]);
    check("[64]", "\"subgroup\"", &["`workgroup_size`", "FROM..TO"]);
    check("[64]", "\"64..32\"", &["`workgroup_size`", "the list is empty"]);
    check("2^12", "2^99", &["line 3", "above 2^40"]);
    check("small", "not a word", &["`name`", "not a word"]);
    check("[[block]]", "[block]", &["line 4"]);
    let long_list = format!("[{}64]", "64, ".repeat(90_000));
    check("[64]", &long_list, &["its lists make 270003 configs, more than 262144"]);
}

/// With `SCANBOX_WRITE_DOCUMENTS=1` it is written instead.
#[test]
fn the_document_of_parameters_is_that_of_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parameters.md");
    if std::env::var_os("SCANBOX_WRITE_DOCUMENTS").is_some() {
        std::fs::write(&path, document()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), document(), "SCANBOX_WRITE_DOCUMENTS=1 writes it");
}

#[test]
fn device_names_become_file_names() {
    for (name, expected) in [
        ("NVIDIA H200", "nvidia-h200"),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe"),
        ("../../etc", "etc"),
        ("(", "device"),
    ] {
        assert_eq!(slug(name), expected);
    }
}
