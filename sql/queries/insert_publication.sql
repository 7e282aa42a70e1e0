insert into publications (space_id, kind, instance, run_id, input_version, counts, code_versions, complete)
values (
    %(space_id)s, %(kind)s, %(instance)s, %(run_id)s, %(input_version)s, jsonb_build_object(), %(code_versions)s, %(complete)s
)
returning id
