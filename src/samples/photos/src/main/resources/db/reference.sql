--liquibase formatted sql

--changeset photos:country
CREATE TABLE country (code text PRIMARY KEY, name text NOT NULL);
INSERT INTO country VALUES ('BR', 'Brazil'), ('DE', 'Germany'), ('FR', 'France'), ('IN', 'India'), ('KE', 'Kenya');
