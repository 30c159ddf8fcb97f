-- PLACEHOLDER: step 0012 is made on another branch; this file goes on merge.

select;
