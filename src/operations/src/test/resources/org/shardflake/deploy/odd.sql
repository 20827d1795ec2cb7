CREATE TYPE "Odd Type" AS ENUM ('a;b', '--changeset x:y', 'q''q', 'back\slash');
CREATE TYPE span AS RANGE (SUBTYPE = float8, SUBTYPE_DIFF = float8mi);
CREATE DOMAIN pos AS int DEFAULT 1 NOT NULL CONSTRAINT "p;" CHECK (VALUE > 0);
CREATE DOMAIN below AS pos CHECK (VALUE < 100);
CREATE TABLE "user" (id bigserial PRIMARY KEY, "order" int, "a.b" text DEFAULT E'x''; -- \\n y', "Q""q" "Odd Type"[] DEFAULT ARRAY['a;b'::"Odd Type"], p below, s span);
CREATE INDEX "weird USING name" ON "user" ((lower("a.b")), "order") WHERE "order" IS NOT NULL;
COMMENT ON COLUMN "user"."a.b" IS E'line 1; \n--changeset a:b\n--rollback x\\';
CREATE TABLE post (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), user_id bigint NOT NULL REFERENCES "user" ON DELETE CASCADE);
CREATE TABLE tag (post uuid REFERENCES post, tag text, PRIMARY KEY (post, tag)) WITH (fillfactor = 80, autovacuum_vacuum_threshold = 10);
CREATE FUNCTION f(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN shard_0003.g(x); END$$;
CREATE FUNCTION g(x int) RETURNS int LANGUAGE sql IMMUTABLE SET search_path = shard_0003 AS 'select x + 1';
CREATE TABLE calc (id int PRIMARY KEY, user_id bigint NOT NULL REFERENCES "user", a int, b int GENERATED ALWAYS AS (f(a)) STORED, c int CHECK (g(c) > 0),
                   EXCLUDE (a WITH =), CONSTRAINT late UNIQUE (c) DEFERRABLE INITIALLY DEFERRED);
ALTER TABLE calc ADD CONSTRAINT nv CHECK (a < 10) NOT VALID;
CREATE UNIQUE INDEX one_null ON calc (a, user_id) NULLS NOT DISTINCT;
