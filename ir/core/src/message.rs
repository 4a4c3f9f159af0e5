//! How errors look to whoever does not ask for a form: a `main` that returns one prints it with `{:?}`.

/// Implements `Debug` for an error such that `{:?}` is its message, as `Display` has it; `{:#?}` shows the fields.
///
/// Takes the struct or the enum with its fields; unnamed ones get any names.
///
/// ```
/// #[derive(thiserror::Error)]
/// enum Error {
///     #[error("no \"{name}\"")]
///     Missing { name: String },
///     #[error(transparent)]
///     Io(std::io::Error),
/// }
/// fusebox_ir::debug_is_message!(enum Error { Missing { name }, Io(error) });
///
/// let error = Error::Missing { name: "x".into() };
/// assert_eq!(format!("{error:?}"), "no \"x\"");
/// assert_eq!(format!("{error:#?}"), "Missing {\n    name: \"x\",\n}");
/// ```
#[macro_export]
macro_rules! debug_is_message {
    (struct $ty:ident { $($field:ident),* $(,)? }) => {
        impl ::std::fmt::Debug for $ty {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                if !f.alternate() {
                    return ::std::fmt::Display::fmt(self, f);
                }
                f.debug_struct(stringify!($ty))$(.field(stringify!($field), &self.$field))*.finish()
            }
        }
    };
    (enum $ty:ident {
        $($(#[$attribute:meta])* $variant:ident $(($($part:ident),*))? $({ $($field:ident),* $(,)? })?),* $(,)?
    }) => {
        impl ::std::fmt::Debug for $ty {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                if !f.alternate() {
                    return ::std::fmt::Display::fmt(self, f);
                }
                match self {
                    $($(#[$attribute])*
                    Self::$variant $(($($part),*))? $({ $($field),* })? => {
                        $(f.debug_tuple(stringify!($variant))$(.field($part))*.finish())?
                        $(f.debug_struct(stringify!($variant))$(.field(stringify!($field), $field))*.finish())?
                    })*
                }
            }
        }
    };
}
