update publications
set is_current = (id = %(publication_id)s),
    counts = case when id = %(publication_id)s then %(counts)s else counts end,
    diff = case when id = %(publication_id)s then %(diff)s else diff end,
    withheld = case when id = %(publication_id)s then %(withheld)s else withheld end
where space_id = %(space_id)s and kind = %(kind)s and instance = %(instance)s
    and (is_current or id = %(publication_id)s)
