-- A retired space has no current publications: filled again, it must be published to by every instance before it is served.
update publications set is_current = false where space_id = %(space_id)s and is_current
