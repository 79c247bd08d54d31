// SPDX-License-Identifier: Apache-2.0
//! Tables of a profile: each number is declared once, with its key in the file, its unit there, and
//! the values that it may have.

use super::Check;
use super::parse::Number;
use crate::ModelError;

/// A part of a profile.
pub(crate) trait Table {
    /// Its form in the file.
    type Raw;

    fn read(raw: Self::Raw) -> Self;

    /// Checks each number by itself.
    fn check(&self, check: &Check<'_>) -> Result<(), ModelError>;
}

/// Declares tables. `field: type = key.read, limit(…);` is a number: its field, its key in the file,
/// the method of [`Number`] that converts it, and the method of [`Check`] that it has to pass. In
/// braces behind `+` are the tables within it.
macro_rules! tables {
    ($(
        $(#[$meta:meta])*
        $name:ident, $raw:ident, $path:literal {$(
            $(#[$doc:meta])*
            $field:ident: $type:ty = $key:ident.$read:ident $(, $check:ident($($limit:expr),*))?;
        )*} $(+ {$(
            $(#[$inner_doc:meta])*
            $inner:ident: $inner_type:ty;
        )*})?
    )*) => {$(
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            $($($(#[$inner_doc])* pub $inner: $inner_type,)*)?
        }

        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $raw {
            $($key: $crate::profile::Number,)*
            $($($inner: <$inner_type as $crate::profile::Table>::Raw,)*)?
        }

        impl $crate::profile::Table for $name {
            type Raw = $raw;

            fn read(raw: $raw) -> Self {
                Self {
                    $($field: raw.$key.$read(),)*
                    $($($inner: $crate::profile::Table::read(raw.$inner),)*)?
                }
            }

            fn check(&self, check: &$crate::profile::Check<'_>) -> Result<(), $crate::ModelError> {
                $($(
                    let field = concat!($path, ".", stringify!($key));
                    check.$check(field, self.$field.into() $(, $limit)*)?;
                )?)*
                $($($crate::profile::Table::check(&self.$inner, check)?;)*)?
                Ok(())
            }
        }
    )*};
}
pub(crate) use tables;

impl<T: Table> Table for Option<T> {
    type Raw = Option<T::Raw>;

    fn read(raw: Self::Raw) -> Self {
        raw.map(T::read)
    }

    fn check(&self, check: &Check<'_>) -> Result<(), ModelError> {
        self.iter().try_for_each(|table| table.check(check))
    }
}

impl<T: Table> Table for Vec<T> {
    type Raw = Vec<T::Raw>;

    fn read(raw: Self::Raw) -> Self {
        raw.into_iter().map(T::read).collect()
    }

    fn check(&self, check: &Check<'_>) -> Result<(), ModelError> {
        self.iter().try_for_each(|table| table.check(check))
    }
}

/// A number that a table may lack.
impl Table for u64 {
    type Raw = Number;

    fn read(raw: Number) -> Self {
        raw.value
    }

    fn check(&self, _: &Check<'_>) -> Result<(), ModelError> {
        Ok(())
    }
}

impl Table for String {
    type Raw = Self;

    fn read(raw: Self) -> Self {
        raw
    }

    fn check(&self, _: &Check<'_>) -> Result<(), ModelError> {
        Ok(())
    }
}
