insert into publications (
    space_id, kind, instance, run_id, input_version, content_version, counts, code_versions, complete, rolled_back_to, held
)
values (
    %(space_id)s, %(kind)s, %(instance)s, %(run_id)s, %(input_version)s, %(content_version)s, jsonb_build_object(),
    %(code_versions)s, %(complete)s, %(rolled_back_to)s, %(held)s
)
returning id
