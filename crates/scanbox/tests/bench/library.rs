//! `scanbox bench --pack`: what takes part, what is said of it, and what is refused.

use std::path::Path;

use scanbox_kernels::catalog::Variant;
use scanbox_model::call_form::CallForm;
use scanbox_model::record::Status;
use serde_json::Value;

use super::{bench, rows};
use crate::sweeps::Place;

const PACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packs/portable.scanpack");

#[test]
fn what_the_library_runs_stands_beside_the_same_configs() {
    let place = Place::in_memory("");
    let args = ["--pack", PACK, "--uses", "pushed,n-on-device", "--sizes", "1000,2^20", "--rounds", "3"];
    let ended = bench(&place, &[&args[..], &["--format", "json"]].concat(), 0);
    assert!(ended.stderr.contains("the library chooses by: the portable choice"), "{}", ended.stderr);
    let rows = rows(&place);
    for n in [1000, 1 << 20] {
        let of = |form| -> Vec<&str> {
            let rows = rows.iter().filter(|row| row.n_elements == n && row.subject == "scanbox");
            let rows = rows.filter(|row| row.call_form == form && row.status == Status::Ok);
            rows.map(|row| &*row.config_id).collect()
        };
        let (library, length) = (of(Some(CallForm::Library)), of(Some(CallForm::LibraryLength)));
        assert_eq!((library.len(), length.len()), (1, 1), "{n}");
        let ordinary = of(None);
        assert!(ordinary.contains(&library[0]) && ordinary.contains(&length[0]), "{n}: {ordinary:?}");
    }
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    let library = json["library"].as_array().unwrap();
    let what: Vec<&str> = library.iter().map(|one| one["what"].as_str().unwrap()).collect();
    let of_size = ["by the library", "n in memory", "n in memory, alone"];
    assert_eq!(what, [of_size, of_size].concat(), "{json}");
    for one in library {
        let (more, most) = (one["more_ns"].as_f64().unwrap(), one["most_ns"].as_f64().unwrap());
        assert!(
            one["against_form"] == if one["what"] == "n in memory" { "library".into() } else { Value::Null }
        );
        assert!(most >= more, "{one}");
    }
    let settings = &json["metadata"]["runs"][0]["settings"]["library"];
    assert!(settings["pack"].as_str().unwrap().ends_with("portable.scanpack"), "{settings}");

    let mut command = place.scanbox(&["bench", "--show", "bench.csv"]);
    let shown = crate::sweeps::ended(command.env("COLUMNS", "140").output().unwrap()).stdout;
    for part in ["What a program gets through the library", "n in memory", "library-length", "at most"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
}

#[test]
fn what_cannot_be_timed_is_refused() {
    let place = Place::in_memory("");
    for (args, said) in [
        (
            &["--pack", PACK, "--uses", "line"][..],
            "line at 1000: the pack has the scan, and no kernel for this use of it; it has pushed",
        ),
        (&["--pack", PACK, "--uses", "pushed", "--against-push"], "--against-push is of configs"),
        (&["--pack", PACK, "--uses", "pushed", "--scratch", "stateless"], "--scratch is of configs"),
        (&["--pack", PACK, "--uses", "pushed", "--call-forms", "total"], "--call-forms is of configs"),
        (&["--pack", PACK, "--uses", "pushed", "--prove"], "--prove needs --blocking"),
        (&["--pack", PACK, "--uses", "pushed,total"], "only pushed, line, baked and n-on-device are timed"),
        (
            &["--pack", PACK, "--uses", "pushed", "--op", "max"],
            "the pack has no such scan; `scanbox pack --show`",
        ),
        (&["b4.vec4.par.rake.wg256", "--call-forms", "library"], "--pack times what the library runs"),
        (&["b4.vec4.par.rake.wg256", "--promises", "progress"], "--pack"),
    ] {
        let ended = bench(&place, &[args, &["--sizes", "1000"]].concat(), 2);
        assert!(ended.stderr.contains(said), "{args:?}: {}", ended.stderr);
    }
    let missing = bench(&place, &["--pack", "none.scanpack"], 1);
    assert!(missing.stderr.contains("--pack none.scanpack"), "{}", missing.stderr);
    // It has no end.
    let endless = bench(&place, &["--pack", "/dev/zero"], 1);
    assert!(endless.stderr.contains("--pack /dev/zero"), "{}", endless.stderr);
    assert!(!Path::new(&place.folder().join("bench.csv")).exists());
}

/// What changes from block to block shows from two rounds on.
#[test]
fn one_round_bounds_nothing() {
    for (rounds, bounded) in [("1", false), ("2", true)] {
        let place = Place::in_memory("");
        let args =
            ["--pack", PACK, "--uses", "pushed", "--sizes", "1000", "--format", "json", "--rounds", rounds];
        let ended = bench(&place, &args, 0);
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        let library = json["library"].as_array().unwrap();
        assert!(!library.is_empty());
        assert!(library.iter().all(|one| one["most_ns"].is_number() == bounded), "{library:?}");
        assert_eq!(ended.stderr.contains("one round does not show"), !bounded, "{}", ended.stderr);
    }
}

#[test]
fn it_is_said_that_pipelines_were_made_anew() {
    for (flags, is_said) in [(&[][..], false), (&["--renew-pipelines"][..], true)] {
        let place = Place::in_memory("");
        let ended =
            bench(&place, &[&["--pack", PACK, "--uses", "pushed", "--sizes", "1000"], flags].concat(), 0);
        assert_eq!(ended.stdout.contains("made anew in each round"), is_said, "{}", ended.stdout);
    }
}

/// Rows say a form, from which the build follows again.
#[test]
fn forms_of_the_library_are_builds() {
    for form in [CallForm::Library, CallForm::LibraryUpdated, CallForm::LibraryLength] {
        let variant = Variant::of_form(form, 1000);
        assert!(variant.by_library && form.is_of_library());
        assert_eq!(variant.form(1000), Some(form));
        assert!(variant.to_string().ends_with(" by the library"), "{variant}");
    }
}

#[test]
fn each_round_has_pipelines_of_its_own() {
    // There is memory for those of the first round alone.
    let script = "[[fault]]\nconfig = \"pipeline\"\nkind = \"out_of_memory\"\nafter = 60\n";
    for (flags, statuses) in [(&[][..], [Status::Ok; 2]), (&["--renew-pipelines"], [Status::OutOfMemory; 2])]
    {
        let place = Place::in_memory(script);
        let args = [&["b4.vec4.par.rake.wg256", "--sizes", "2^20", "--rounds", "9"], flags].concat();
        bench(&place, &args, i32::from(!flags.is_empty()));
        let found: Vec<(String, Status)> =
            rows(&place).into_iter().map(|row| (row.subject.to_string(), row.status)).collect();
        for (subject, status) in ["scanbox", "copy"].into_iter().zip(statuses) {
            assert!(found.iter().any(|one| *one == (subject.to_owned(), status)), "{flags:?}: {found:?}");
        }
    }
}

#[test]
fn a_device_that_is_lost_over_new_pipelines_ends_the_run() {
    let place = Place::in_memory("[[fault]]\nconfig = \"pipeline\"\nkind = \"device_lost\"\nafter = 60\n");
    let args = ["b4.vec4.par.rake.wg256", "--sizes", "2^20", "--rounds", "9", "--renew-pipelines"];
    let ended = bench(&place, &args, 1);
    assert!(ended.stderr.contains("lost"), "{}", ended.stderr);
}
