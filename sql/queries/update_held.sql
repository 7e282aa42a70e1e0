update publications set held = '{{}}' where kind = %(kind)s and instance = %(instance)s and is_current and held <> '{{}}'
