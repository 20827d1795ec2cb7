--liquibase formatted sql

--changeset adopt:tables
CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text NOT NULL);
