-- Every consumer's selector has a row now. A text/template as the others.
alter table mbus4.consumer validate constraint consumer_selector_id_fkey;
