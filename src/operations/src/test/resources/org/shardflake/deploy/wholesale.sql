CREATE TABLE region (region_id smallint PRIMARY KEY, region_description text NOT NULL);
CREATE TABLE territories (territory_id varchar(20) PRIMARY KEY, region_id smallint NOT NULL REFERENCES region);
CREATE TABLE categories (category_id smallint PRIMARY KEY, category_name varchar(15) NOT NULL, picture bytea);
CREATE TABLE products (product_id smallint PRIMARY KEY, product_name varchar(40) NOT NULL, category_id smallint REFERENCES categories, unit_price real, discontinued integer NOT NULL);
CREATE TABLE customers (customer_id varchar(5) PRIMARY KEY, company_name varchar(40) NOT NULL, city varchar(15), region varchar(15));
CREATE INDEX customers_city ON customers USING hash (city);
CREATE TABLE customer_demographics (customer_type_id varchar(5) PRIMARY KEY, customer_desc text);
CREATE TABLE customer_customer_demo (customer_id varchar(5) NOT NULL REFERENCES customers, customer_type_id varchar(5) NOT NULL REFERENCES customer_demographics,
                                     PRIMARY KEY (customer_id, customer_type_id));
CREATE TABLE orders (order_id smallint PRIMARY KEY, customer_id varchar(5) NOT NULL REFERENCES customers, order_date date, freight real, ship_name varchar(40),
                     UNIQUE (customer_id, order_id));
CREATE TABLE order_details (order_id smallint NOT NULL REFERENCES orders, product_id smallint NOT NULL REFERENCES products, unit_price real NOT NULL, quantity smallint NOT NULL,
                            discount real DEFAULT 0 NOT NULL, PRIMARY KEY (order_id, product_id));
CREATE TABLE returns (return_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id smallint, product_id smallint,
                      FOREIGN KEY (order_id, product_id) REFERENCES order_details MATCH FULL ON DELETE SET NULL);
