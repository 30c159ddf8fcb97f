-- What the engine uses of hstore, bound to the extension's objects.

-- The schema in which the extension lives may belong to somebody whom nobody trusts, who can rename it and make another one of
-- its name. So the name is read once, here; the bodies are parsed as they are made, the operators and the domain keep OIDs, and
-- before anything of this is used checkTrust looks at the owners of what they stand for. Bodies that are text, and statements of the engine's own, name this
-- schema ({{"{{.Bound}}"}}), and the extension's ({{"{{.Hstore}}"}}) is named only for types of columns and parameters, which are kept by their OIDs, too.

-- The schema itself is there, and empty: see emptyBound.
grant usage on schema {{.Bound}} to public; -- bodies run with the rights of whoever calls them

create domain {{.Bound}}.hstore as {{.Hstore}}.hstore;
-- (row($1)::{{.Bound}}.given).value is the parameter of a statement, cast to hstore: $1::{{.Bound}}.hstore would make the domain its type.
create type {{.Bound}}.given as (value {{.Hstore}}.hstore);

create function {{.Bound}}.hstore(key text, value text) returns {{.Hstore}}.hstore language sql immutable parallel safe
begin atomic select {{.Hstore}}.hstore(key, value); end;
create function {{.Bound}}.hstore(pairs text[]) returns {{.Hstore}}.hstore language sql immutable parallel safe
begin atomic select {{.Hstore}}.hstore(pairs); end;
create function {{.Bound}}.hstore(keys text[], vals text[]) returns {{.Hstore}}.hstore language sql immutable parallel safe
begin atomic select {{.Hstore}}.hstore(keys, vals); end;
create function {{.Bound}}.hstore_to_jsonb(h {{.Hstore}}.hstore) returns jsonb language sql immutable parallel safe
begin atomic select {{.Hstore}}.hstore_to_jsonb(h); end;
create function {{.Bound}}.hstore_to_json(h {{.Hstore}}.hstore) returns json language sql immutable parallel safe
begin atomic select {{.Hstore}}.hstore_to_json(h); end;
create function {{.Bound}}.exist(h {{.Hstore}}.hstore, key text) returns boolean language sql immutable parallel safe
begin atomic select {{.Hstore}}.exist(h, key); end;
create function {{.Bound}}.defined(h {{.Hstore}}.hstore, key text) returns boolean language sql immutable parallel safe
begin atomic select {{.Hstore}}.defined(h, key); end;
create function {{.Bound}}.isexists(h {{.Hstore}}.hstore, key text) returns boolean language sql immutable parallel safe
begin atomic select {{.Hstore}}.isexists(h, key); end;
create function {{.Bound}}.isdefined(h {{.Hstore}}.hstore, key text) returns boolean language sql immutable parallel safe
begin atomic select {{.Hstore}}.isdefined(h, key); end;
create function {{.Bound}}.fetchval(h {{.Hstore}}.hstore, key text) returns text language sql immutable parallel safe
begin atomic select {{.Hstore}}.fetchval(h, key); end;
create function {{.Bound}}.exists_any(h {{.Hstore}}.hstore, keys text[]) returns boolean language sql immutable parallel safe
begin atomic select {{.Hstore}}.exists_any(h, keys); end;
create function {{.Bound}}.exists_all(h {{.Hstore}}.hstore, keys text[]) returns boolean language sql immutable parallel safe
begin atomic select {{.Hstore}}.exists_all(h, keys); end;
create function {{.Bound}}.akeys(h {{.Hstore}}.hstore) returns text[] language sql immutable parallel safe
begin atomic select {{.Hstore}}.akeys(h); end;
create function {{.Bound}}.avals(h {{.Hstore}}.hstore) returns text[] language sql immutable parallel safe
begin atomic select {{.Hstore}}.avals(h); end;
create function {{.Bound}}.slice(h {{.Hstore}}.hstore, keys text[]) returns {{.Hstore}}.hstore language sql immutable parallel safe
begin atomic select {{.Hstore}}.slice(h, keys); end;

create operator {{.Bound}}.-> (leftarg = {{.Hstore}}.hstore, rightarg = text, function = {{.Hstore}}.fetchval);
create operator {{.Bound}}.-> (leftarg = {{.Hstore}}.hstore, rightarg = text[], function = {{.Hstore}}.slice_array);
create operator {{.Bound}}.|| (leftarg = {{.Hstore}}.hstore, rightarg = {{.Hstore}}.hstore, function = {{.Hstore}}.hs_concat);
create operator {{.Bound}}.- (leftarg = {{.Hstore}}.hstore, rightarg = text, function = {{.Hstore}}.delete);
create operator {{.Bound}}.- (leftarg = {{.Hstore}}.hstore, rightarg = text[], function = {{.Hstore}}.delete);
create operator {{.Bound}}.- (leftarg = {{.Hstore}}.hstore, rightarg = {{.Hstore}}.hstore, function = {{.Hstore}}.delete);
create operator {{.Bound}}.? (leftarg = {{.Hstore}}.hstore, rightarg = text, function = {{.Hstore}}.exist, restrict = contsel, join = contjoinsel);
create operator {{.Bound}}.?| (leftarg = {{.Hstore}}.hstore, rightarg = text[], function = {{.Hstore}}.exists_any, restrict = contsel, join = contjoinsel);
create operator {{.Bound}}.?& (leftarg = {{.Hstore}}.hstore, rightarg = text[], function = {{.Hstore}}.exists_all, restrict = contsel, join = contjoinsel);
create operator {{.Bound}}.@> (leftarg = {{.Hstore}}.hstore, rightarg = {{.Hstore}}.hstore, function = {{.Hstore}}.hs_contains, restrict = contsel, join = contjoinsel);
create operator {{.Bound}}.<@ (leftarg = {{.Hstore}}.hstore, rightarg = {{.Hstore}}.hstore, function = {{.Hstore}}.hs_contained, restrict = contsel, join = contjoinsel);
create operator {{.Bound}}.= (leftarg = {{.Hstore}}.hstore, rightarg = {{.Hstore}}.hstore, function = {{.Hstore}}.hstore_eq, commutator = operator({{.Bound}}.=), restrict = eqsel, join = eqjoinsel);
create operator {{.Bound}}.<> (leftarg = {{.Hstore}}.hstore, rightarg = {{.Hstore}}.hstore, function = {{.Hstore}}.hstore_ne, commutator = operator({{.Bound}}.<>), restrict = neqsel, join = neqjoinsel);
