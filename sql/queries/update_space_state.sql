update embedding_spaces
set state = %(state)s, activated_at = case when %(state)s = 'active' then now() else activated_at end
where id = %(space_id)s
