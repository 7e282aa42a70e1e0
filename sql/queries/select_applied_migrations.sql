select name from schema_migrations
