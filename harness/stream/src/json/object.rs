//! Values that are read in the pass that validates their record, without a second pass.

use super::cursor::{JsonCursor, JsonResult};

/// A value that is read in the pass that validates its record.
pub(crate) trait ReadJson<'a>: Default {
    /// Reads the value at the cursor into an empty place; returns false if the value is `null`.
    fn fill(&mut self, cursor: &mut JsonCursor<'a>) -> JsonResult<bool>;

    /// Reads the value at the cursor into `place`, where it replaces an earlier value; `null` counts
    /// as absent. The value is filled in its place because it is large to move.
    #[inline(always)]
    fn read(place: &mut Option<Self>, cursor: &mut JsonCursor<'a>) -> JsonResult<()> {
        if !place.insert(Self::default()).fill(cursor)? {
            *place = None;
        }
        Ok(())
    }
}

/// Implements [`ReadJson`] for a struct from one table of keys and fields, which are read in any
/// order: first the fields of type [`JsonField`](super::JsonField), and after the semicolon those of
/// other types. Frequent keys come first, which is faster. The last of equal keys counts, and the values of
/// other keys are skipped. The field `raw` gets the whole value, whatever its type.
macro_rules! json_object {
    ($type:ident {
        $($key:literal => $field:ident $([$at:literal])?),* $(;
        $($part_key:literal => $part:ident),*)?
    }) => {
        impl<'a> $type<'a> {
            #[inline(always)]
            fn member(
                &mut self,
                key: $crate::json::JsonKey<'_>,
                cursor: &mut $crate::json::JsonCursor<'a>,
            ) -> $crate::json::JsonResult<()> {
                $($(if key == $part_key {
                    return $crate::json::ReadJson::read(&mut self.$part, cursor);
                })*)?
                let field = $(if key == $key { &mut self.$field $([$at])? } else)* {
                    return cursor.skip();
                };
                *field = cursor.field()?;
                Ok(())
            }
        }

        impl<'a> $crate::json::ReadJson<'a> for $type<'a> {
            #[inline]
            fn fill(
                &mut self,
                cursor: &mut $crate::json::JsonCursor<'a>,
            ) -> $crate::json::JsonResult<bool> {
                self.raw = cursor.object(&mut |key, cursor| self.member(key, cursor))?;
                Ok(self.raw.get() != "null")
            }
        }
    };
}
pub(crate) use json_object;
