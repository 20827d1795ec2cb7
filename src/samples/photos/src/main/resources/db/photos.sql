--liquibase formatted sql

--changeset photos:person
CREATE TABLE person (
    uid     bigint PRIMARY KEY,
    email   text NOT NULL,
    name    text NOT NULL,
    country text NOT NULL REFERENCES reference.country
);
CREATE INDEX person_country ON person (country);

--changeset photos:photo
CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL REFERENCES person, title text NOT NULL);
CREATE INDEX photo_uid ON photo (uid);

--changeset photos:liked
CREATE TABLE liked (photo_id bigint REFERENCES photo, name text, PRIMARY KEY (photo_id, name));
