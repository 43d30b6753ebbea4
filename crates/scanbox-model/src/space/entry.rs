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

/// What lists may say beside the values of a type, for the message that ends with these.
fn more_words<T: Typed>() -> String {
    let Values::Words(own) = T::VALUES else { return String::new() };
    let is_own = |parameter: &&Declaration| match parameter.values {
        Values::Words(words) => words.iter().map(|word| word.word).eq(own.iter().map(|word| word.word)),
        Values::Numbers(..) => false,
    };
    let Some(parameter) = PARAMETERS.iter().find(is_own) else { return String::new() };
    let more = [(parameter.found, AUTO), (parameter.offered, ALL)];
    more.into_iter().filter(|(may, _)| *may).map(|(_, word)| format!(", {word}")).collect()
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
            Err(error) => Err(E::custom(format!("{error}{}", more_words::<T>()))),
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
