// SPDX-License-Identifier: Apache-2.0
//! Enumerations whose numbers hardware knows.

/// Declares an enumeration by its numbers; with a text behind each, also its name in reports.
macro_rules! numbered {
    ($(#[$meta:meta])* $name:ident: $number:ident {
        $($(#[$doc:meta])* $variant:ident = $value:literal $text:literal;)*
    }) => {
        $crate::numbered::numbered! {
            $(#[$meta])* $name: $number { $($(#[$doc])* $variant = $value;)* }
        }

        impl $name {
            /// Its name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
    ($(#[$meta:meta])* $name:ident: $number:ident {
        $($(#[$doc:meta])* $variant:ident = $value:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr($number)]
        pub enum $name { $($(#[$doc])* $variant = $value,)* }

        impl $name {
            /// All of them, by their number.
            pub const ALL: [Self; [$($value),*].len()] = [$(Self::$variant),*];

            /// The one with this number, if we know it.
            pub const fn from_number(number: $number) -> Option<Self> {
                match number { $($value => Some(Self::$variant),)* _ => None }
            }

            /// Its number.
            pub const fn number(self) -> $number { self as $number }
        }
    };
}
pub(crate) use numbered;
