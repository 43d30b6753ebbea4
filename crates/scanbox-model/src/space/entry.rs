//! An entry of a list of a product as it stands in a file: a value, `auto` for what is found out on the device, or
//! `all` for what it offers.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::parameters::{ALL, AUTO, Declaration, PARAMETERS, Typed, Value, Values};

/// An entry of a list. (A parameter that has a value of its own named `auto` has that: it stands in labels.)
pub(super) enum Entry<T> {
    /// A value.
    Value(T),
    /// What is found out on the device.
    Auto,
    /// Every value that the device offers.
    All,
}

impl<T: Typed> Entry<T> {
    /// The value in a product.
    ///
    /// # Errors
    /// When nothing of the parameter is found out on devices, or none offers any.
    pub fn value(self, parameter: &Declaration) -> Result<Value, String> {
        match self {
            Self::Value(value) => Ok(value.value()),
            Self::Auto if parameter.found => Ok(Value::Auto),
            Self::Auto => Err(parameter.values.unknown(parameter.name, AUTO)),
            Self::All if parameter.offered => Ok(Value::All),
            Self::All => Err(parameter.values.unknown(parameter.name, ALL)),
        }
    }

    /// The entry of a value.
    pub fn of(value: Value) -> Option<Self> {
        match value {
            Value::Auto => Some(Self::Auto),
            Value::All => Some(Self::All),
            value => T::of(value).map(Self::Value),
        }
    }
}

impl<T: Serialize> Serialize for Entry<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Auto => serializer.serialize_str(AUTO),
            Self::All => serializer.serialize_str(ALL),
        }
    }
}

impl<'de, T: Typed + Deserialize<'de>> Deserialize<'de> for Entry<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Entry<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("EntryOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut choices = vec![generator.subschema_for::<T>(), json_schema!({ "enum": [AUTO, ALL] })];
        // The words of some parameters are numbers, and a file may have those without quotes.
        let words = T::json_schema(generator);
        let words = words.get("oneOf").and_then(|words| words.as_array()).into_iter().flatten();
        let numbers: Vec<u64> = words.filter_map(|word| word.get("const")?.as_str()?.parse().ok()).collect();
        if !numbers.is_empty() {
            choices.push(json_schema!({ "enum": numbers }));
        }
        json_schema!({ "anyOf": choices })
    }
}

/// What is wrong with a word of a list, and what may stand there: the values, and what else lists may have. `None` of
/// numbers.
fn wrong_word<T: Typed>(text: &str) -> Option<String> {
    let Values::Words(own) = T::VALUES else { return None };
    let is_own = |parameter: &&Declaration| match parameter.values {
        Values::Words(words) => words.iter().map(|word| word.word).eq(own.iter().map(|word| word.word)),
        Values::Numbers(..) => false,
    };
    let parameter = PARAMETERS.iter().find(is_own)?;
    let more = [(parameter.found, AUTO), (parameter.offered, ALL)];
    let more: String =
        more.into_iter().filter(|(may, _)| *may).map(|(_, word)| format!(", {word}")).collect();
    Some(parameter.values.unknown(parameter.name, text) + &more)
}

struct EntryVisitor<T>(PhantomData<T>);

impl<'de, T: Typed + Deserialize<'de>> Visitor<'de> for EntryVisitor<T> {
    type Value = Entry<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Entry<T>, E> {
        let value: Result<T, E> = T::deserialize(text.into_deserializer());
        match value {
            Ok(value) => Ok(Entry::Value(value)),
            Err(_) if text == AUTO => Ok(Entry::Auto),
            Err(_) if text == ALL => Ok(Entry::All),
            Err(error) => Err(wrong_word::<T>(text).map_or(error, E::custom)),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Entry<T>, E> {
        // The words of some parameters are numbers.
        T::deserialize(number.into_deserializer())
            .or_else(|_: E| T::deserialize(number.to_string().into_deserializer()))
            .map(Entry::Value)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Entry<T>, E> {
        T::deserialize(number.into_deserializer())
            .or_else(|_: E| T::deserialize(number.to_string().into_deserializer()))
            .map(Entry::Value)
    }
}
