//! The JSON form: the same, with modules by hash.

use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use scanbox_pack::json::PackText;
use scanbox_pack::{ModuleHash, Pack, PackError};
use serde_json::{Value, json};

use crate::packs::{any_pack, pack};

fn text(pack: &Pack) -> String {
    serde_json::to_string_pretty(&PackText::from(pack)).unwrap()
}

/// The pack in a text, with the code of another one.
fn read(text: &str, with_code: &Pack) -> Result<Pack, PackError> {
    let find = |hash: &ModuleHash| {
        let modules = &with_code.data().modules;
        modules.iter().find(|module| module.hash == *hash).map(|module| module.words.clone())
    };
    serde_json::from_str::<PackText>(text).unwrap().pack(find)
}

#[test]
fn it_says_what_the_file_says() {
    let value: Value = serde_json::from_str(&text(&pack())).unwrap();
    assert_eq!((&value["format"], &value["major"]), (&json!("scanbox-pack"), &json!(1)));
    let pack = &value["pack"];
    assert_eq!(pack["device"]["keeps"], json!(["progress", "co-residency"]));
    assert_eq!(pack["problems"][0]["measured"][0]["breakpoints"][1]["ranked"], json!([2, 1]));
    assert_eq!(pack["modules"][1]["hash"], json!("01".repeat(32)));
    assert_eq!(pack["modules"][1].get("words"), None);
    assert_eq!(pack["modules"][2]["features"], json!(["subgroup arithmetic"]));
    assert_eq!(
        pack["recipes"][1]["recipe"]["formula"]["states"]["content"],
        json!({"self-turning": {"epoch_bits": 30}})
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let (pack, text) = (pack(), text(&pack()));
    let changed = |from: &str, to: &str| read(&text.replacen(from, to, 1), &pack).unwrap_err();
    assert_eq!(changed("scanbox-pack", "scanbox-bench"), PackError::NotAPack);
    assert_eq!(changed("\"major\": 1", "\"major\": 6"), PackError::Newer { major: 6, minor: 0 });
    assert!(changed("\"major\": 1", "\"major\": 0").to_string().contains("there is no version 0.0"));
    let hash = "03".repeat(32);
    let lost = changed(&hash, &"77".repeat(32)).to_string();
    assert!(lost.starts_with("module 3 of the pack: nobody has the code 7777"), "{lost}");
    let unfit = changed("\"co_resident\": false", "\"co_resident\": true").to_string();
    assert!(unfit.starts_with("recipe 0 (one) of the pack: all workgroups"), "{unfit}");
    for (from, to) in [(hash.as_str(), "03"), (hash.as_str(), "zz"), ("\"progress\"", "\"haste\"")] {
        assert!(serde_json::from_str::<PackText>(&text.replace(from, to)).is_err(), "{to}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_pack_is_read_as_it_was_told(pack in any_pack()) {
        prop_assert_eq!(read(&text(&pack), &pack), Ok(pack));
    }
}
