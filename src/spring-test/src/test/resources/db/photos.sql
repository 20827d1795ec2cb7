--liquibase formatted sql
--changeset app:photo
CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text NOT NULL);
--changeset app:liked
CREATE TABLE liked (photo_id bigint REFERENCES photo, uid bigint NOT NULL, PRIMARY KEY (photo_id, uid));
