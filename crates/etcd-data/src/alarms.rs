//! The `alarm` bucket: key = `AlarmMember{1 memberID, 2 alarm}`, no value. Alarms survive a restore, under the old
//! member's id, and go on refusing writes; emptying the bucket is all it takes to be rid of them.

use bbolt::Db;

use crate::error::{Error, Result};
use crate::proto::Fields;

/// The bucket's name.
pub const ALARM_BUCKET: &[u8] = b"alarm";
/// Most alarms read; there are two kinds per member.
const MAX_ALARMS: usize = 1000;

/// An alarm that some member raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// Who raised it.
    pub member_id: u64,
    /// `NOSPACE`, `CORRUPT`, or the number of a kind that this program does not know.
    pub kind: String,
}

/// All raised alarms.
pub fn alarms(db: &Db) -> Result<Vec<Alarm>> {
    let mut found = Vec::new();
    let Some(bucket) = db.bucket(ALARM_BUCKET)? else {
        return Ok(found);
    };
    let mut scan = bucket.scan()?;
    while let Some((key, _)) = scan.next()? {
        if found.len() >= MAX_ALARMS {
            return Err(Error::corrupt(format!(
                "alarm bucket: more than {MAX_ALARMS} alarms"
            )));
        }
        found.push(decode(key)?);
    }
    Ok(found)
}

fn decode(key: &[u8]) -> Result<Alarm> {
    let (mut member_id, mut kind) = (0, 0);
    let mut fields = Fields::new(key);
    let wrong = |e| Error::corrupt(format!("alarm bucket: {e}"));
    while let Some((field, value)) = fields.next_field().map_err(wrong)? {
        match field {
            1 => member_id = value.varint(field).map_err(wrong)?,
            2 => kind = value.varint(field).map_err(wrong)?,
            _ => {}
        }
    }
    let kind = match kind {
        0 => "NONE".into(),
        1 => "NOSPACE".into(),
        2 => "CORRUPT".into(),
        other => other.to_string(),
    };
    Ok(Alarm { member_id, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_as_the_server_writes_it() {
        let alarm = decode(b"\x08\xAC\xDF\x8C\x9B\xB7\xE3\x88\x80\xE5\x01\x10\x01").unwrap();
        assert_eq!(
            alarm,
            Alarm {
                member_id: 16501227635492466604,
                kind: "NOSPACE".into()
            }
        );
    }
}
