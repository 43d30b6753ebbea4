//! What stands beside rows, and is theirs or somebody else's.

use super::cases::BENCH_OUT;
use super::*;

#[test]
fn what_stands_beside_rows_is_not_destroyed_either() {
    let sources = sources();
    let foreign = There::Bytes(b"{\"mine\": true}\n".to_vec());
    for (writes, ending) in [
        ("sweep", "meta.json"),
        ("sweep", "journal"),
        ("sweep", "lock"),
        ("benchmark", "meta.json"),
        ("benchmark", "csv.partial"),
    ] {
        let case = cases().into_iter().find(|case| case.writes == writes).unwrap();
        let place = Place::in_memory("");
        copy(sources.folder(), place.folder());
        let file = format!("x.{ending}");
        put(&foreign, &place.folder().join(&file));
        check(&place, &case, case.out, false, &file, "a companion");
    }
    // What is right in itself, and of other rows: a link to it is no place to write to.
    for (writes, ending, of) in [
        ("sweep", "meta.json", "sweep.meta.json"),
        ("sweep", "journal", "sweep.journal"),
        ("benchmark", "meta.json", "bench.meta.json"),
        ("benchmark", "csv.partial", "bench.csv"),
    ] {
        for beside_rows in [false, true] {
            let case = cases().into_iter().find(|case| case.writes == writes).unwrap();
            let place = Place::in_memory("");
            copy(sources.folder(), place.folder());
            let journal = "run 1b4e28ba\nstart b4.vec4.par.rake.wg64 1024\nend\n";
            fs::write(place.folder().join("sweep.journal"), journal).unwrap();
            if beside_rows {
                let rows = if writes == "sweep" { "sweep.csv" } else { "bench.csv" };
                fs::copy(place.folder().join(rows), place.folder().join("x.csv")).unwrap();
            }
            let link = format!("x.{ending}");
            symlink(of, place.folder().join(&link)).unwrap();
            check(&place, &case, case.out, false, &link, "a link to a companion of other rows");
        }
    }
    // Rows and companions that are links to the same rows and theirs stay what they are.
    let case = cases().into_iter().find(|case| case.writes == "sweep").unwrap();
    let place = Place::in_memory("");
    copy(sources.folder(), place.folder());
    for ending in ["csv", "meta.json"] {
        symlink(format!("sweep.{ending}"), place.folder().join(format!("x.{ending}"))).unwrap();
    }
    place.run(&[case.line, &["x.csv"]].concat(), 0);
    // Texts of others that begin as companions do, with a line break at the end and without.
    for (ending, text) in [
        ("journal", "run 1 was slow, fan loud"),
        ("journal", "run 1"),
        ("journal", "run 1b4e28ba\nfan loud"),
        ("journal", "run 1b4e28ba\nstart over\nrun"),
        ("journal", "r"),
        ("lock", "process 17 was slow, since monday"),
        ("lock", "process improvements, since 2026-01-01T00:00:00Z"),
        ("lock", "p"),
        ("meta.json", "{"),
        ("meta.json", "{\n  \"schema\": 1,\n  \"tool_version\": \"mine\"\n}"),
        ("csv", "s"),
        ("csv", "schema,tool"),
    ] {
        for end in ["", "\n"] {
            for beside_rows in [false, true] {
                // A piece may be what a crash has left beside rows.
                let is_piece = text == "{" || (["run 1", "r"].contains(&text) && end.is_empty());
                if beside_rows && (is_piece || ending == "csv") {
                    continue;
                }
                let case = cases().into_iter().find(|case| case.writes == "sweep").unwrap();
                let place = Place::in_memory("");
                copy(sources.folder(), place.folder());
                if beside_rows {
                    fs::copy(place.folder().join("sweep.csv"), place.folder().join("x.csv")).unwrap();
                }
                let file = format!("x.{ending}");
                put(&There::Bytes(format!("{text}{end}").into_bytes()), &place.folder().join(&file));
                check(&place, &case, case.out, false, &file, text);
            }
        }
    }
    // A link to rows: what is locked stands beside those.
    let case = cases().into_iter().find(|case| case.writes == "sweep").unwrap();
    let place = Place::in_memory("");
    copy(sources.folder(), place.folder());
    fs::create_dir(place.folder().join("far")).unwrap();
    fs::copy(place.folder().join("sweep.csv"), place.folder().join("far/rows.csv")).unwrap();
    symlink("far/rows.csv", place.folder().join("x.csv")).unwrap();
    put(&foreign, &place.folder().join("far/rows.lock"));
    check(&place, &case, case.out, false, "far/rows.lock", "the lock of what a link leads to");
    // The place of what is read beside another file, though no command has written it yet.
    let page = cases().into_iter().find(|case| case.writes == "page").unwrap();
    let place = Place::in_memory("");
    copy(sources.folder(), place.folder());
    check(&place, &page, "rows.meta.json", false, "rows.meta.json", "metadata of others");
    // One output is not another one.
    let args = [&BENCH_OUT[..], &["y.csv", "--plot", "y.csv"]].concat();
    let both = place.run(&args, 1);
    assert!(both.stderr.contains("y.csv") && !place.folder().join("y.csv").exists(), "{}", both.stderr);
}
