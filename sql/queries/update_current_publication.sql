update publications
set is_current = true, counts = %(counts)s, diff = %(diff)s, withheld = %(withheld)s
where id = %(publication_id)s
