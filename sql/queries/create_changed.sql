create temporary table changed (like {chunks}) on commit drop;
alter table changed alter column search_vector drop not null;
alter table changed drop column number, drop column facet, drop column terms, drop column tfs;
alter table changed add column term_list text not null, add column tf_list text not null, add column identifier_list text not null;
