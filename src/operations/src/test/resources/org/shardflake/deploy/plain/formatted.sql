--liquibase formatted sql logicalFilePath:formatted/logical.sql
--property name:word value:said dbms:postgresql
--property name:word value:wrong dbms:oracle

--changeset dan:plain
CREATE TABLE formatted (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text); -- a table
INSERT INTO formatted (what) VALUES ('${word}; -- here');
/* a comment; */ INSERT INTO formatted (what) VALUES ('b'); -- c;
--rollback DROP TABLE formatted;

--changeset dan:whole splitStatements:false stripComments:false
CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; /* kept */ END $$; INSERT INTO formatted (what) VALUES ('c');

--changeset dan:delimited endDelimiter:// stripComments:true
INSERT INTO formatted (what) VALUES ('d;')
//
INSERT INTO formatted (what) VALUES ('e')
//

--changeset dan:never context:never
INSERT INTO formatted (what) VALUES ('never');

--changeset dan:"in context" contextFilter:test labels:v1 dbms:postgresql runOnChange:true logicalFilePath:other/path.sql
INSERT INTO formatted (what) VALUES ('context');

--changeset dan:ignored ignore:true
INSERT INTO formatted (what) VALUES ('ignored');

--changeset dan:checked
--preconditions onFail:MARK_RAN onError:HALT
--precondition-sql-check expectedResult:0 SELECT count(*) FROM formatted WHERE what = 'b'
INSERT INTO formatted (what) VALUES ('checked');

--changeset dan:checked2
--preconditions onFail:CONTINUE
--precondition-table-exists table:formatted
--precondition-view-exists view:nothing
INSERT INTO formatted (what) VALUES ('checked2');

--changeset dan:checked3
--preconditions onFail:CONTINUE
--precondition-table-exists table:formatted
INSERT INTO formatted (what) VALUES ('checked3');

--changeset dan:lines
INSERT INTO formatted (what) VALUES ('before');
--ignoreLines:start
INSERT INTO formatted (what) VALUES ('left out');
--ignoreLines:end
--ignoreLines:1
INSERT INTO formatted (what) VALUES ('left out, too');
INSERT INTO formatted (what) VALUES ('after');

--changeset dan:concurrent runInTransaction:false
CREATE INDEX CONCURRENTLY formatted_what ON formatted (what);

--changeset dan:valid
--validCheckSum: 1:any
SELECT 1;
